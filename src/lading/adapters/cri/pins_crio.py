"""Pins on CRI-O: one configuration file, a reload, and then a check of what CRI-O reports.

CRI-O pins by the names that an image was pulled by. One that a pod pulled by its tag has no other
name, though CRI-O lists its digest, so what the digest does not pin is pinned by its tags.

The owners of the pins are in a state file of our own, outside CRI-O's folders. The state is
written before the configuration, so after a crash a pin is listed as not in force, never lost.
"""

from collections.abc import Collection
from pathlib import Path

import msgspec

from lading import files
from lading.adapters.cri import read_back, releases
from lading.adapters.cri.crio_config import CrioConfig
from lading.adapters.cri.crio_reload import Reload
from lading.ports import cri
from lading.ports.clock import Clock
from lading.ports.cri import Cri, Pin, RecordedPin

# Before these, a reload does not change the pins, or cannot take the last one back.
PINNING_PATCH_BY_LINE = {(1, 29): 7, (1, 30): 3}
# A reload takes CRI-O a fraction of a second; what is not pinned then does not bear the name.
NAMED_SECONDS_MAX = 3.0


class CrioPins:
    def __init__(
        self, runtime: Cri, *, config: CrioConfig, state_file: Path, reload: Reload, clock: Clock
    ) -> None:
        self._runtime = runtime
        self._config = config
        self._state_file = state_file
        self._reload = reload
        self._clock = clock

    async def cannot_pin(self) -> cri.CannotPin | None:
        version = await self._runtime.version()
        if version.name != "cri-o":
            return cri.CannotPin(f"{version.name} does not read CRI-O's configuration")
        reason = "it needs a restart to notice pins"
        return (
            releases.too_old(version, patch_by_line=PINNING_PATCH_BY_LINE, reason=reason)
            or self._config.refusal()
        )

    async def recorded(self) -> tuple[RecordedPin, ...]:
        """A pin without its image is listed too, as not in force, until it is let go."""
        pinned_ids = await read_back.pinned_ids(self._runtime)
        return tuple(
            RecordedPin(pin=pin, effective=pin.image_id in pinned_ids) for pin in self._recorded()
        )

    async def write(self, pins: Collection[Pin]) -> None:
        refusal = await self.cannot_pin()
        if refusal is not None:
            raise refusal
        present = {image.id: image for image in await self._runtime.images()}
        ours = sorted(
            (pin for pin in pins if pin.image_id in present),
            key=lambda pin: (pin.image, pin.image_id),
        )
        self._record(ours)
        tags = {pin.image_id: set(present[pin.image_id].repo_tags) for pin in ours}
        every_tag = set().union(*tags.values())
        # The tags that were needed before stay, so that nothing is unpinned for a moment.
        names = {pin.image for pin in ours} | self._config.written() & every_tag
        if every_tag <= names:
            await self._put_in_force(names, ours)
            return
        await self._put_in_force(names, ours, seconds_max=NAMED_SECONDS_MAX)
        pinned = await read_back.pinned_ids(self._runtime)
        needed = names.union(*(tags[pin.image_id] for pin in ours if pin.image_id not in pinned))
        await self._put_in_force(needed, ours)

    async def _put_in_force(
        self,
        names: Collection[str],
        pins: Collection[Pin],
        *,
        seconds_max: float = read_back.READ_BACK_SECONDS_MAX,
    ) -> None:
        changed = self._config.write(names)
        if changed or not await read_back.in_force(self._runtime, pins):
            await self._reload()
            await read_back.wait_until_in_force(
                self._runtime, pins, self._clock, seconds_max=seconds_max
            )

    def _recorded(self) -> list[Pin]:
        """An unreadable state is no state: the next `write` writes it anew."""
        try:
            return msgspec.json.decode(self._state_file.read_bytes(), type=list[Pin])
        except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError):
            return []

    def _record(self, pins: list[Pin]) -> None:
        if self._recorded() != pins:
            files.write_atomically(self._state_file, msgspec.json.encode(pins))
