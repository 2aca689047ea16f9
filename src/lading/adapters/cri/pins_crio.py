"""Pins on CRI-O: one configuration file, a reload, and then a check of what CRI-O reports.

CRI-O pins by the names that an image was pulled by. One that a pod pulled by its tag has no other
name, though CRI-O lists its digest, so what the digest does not pin is pinned by its tags.

What is unpinned stays recorded in the file until CRI-O no longer reports it as pinned, so neither a
reload that fails nor a crash loses an unpin.
"""

import os
import signal
import socket
import struct
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TypeAlias

from lading.adapters.cri import pinning
from lading.adapters.cri.crio_config import CrioConfig, PinRecord
from lading.kernel.values import replace
from lading.ports import cri
from lading.ports.clock import Clock
from lading.ports.cri import Cri, Image, Pin, RecordedPin, Unavailable

Reload: TypeAlias = Callable[[], Awaitable[None]]

_PEER = struct.Struct("3i")  # of SO_PEERCRED: process, user, group


def by_signal(endpoint: str) -> Reload:
    """SIGHUP to whichever process listens on the socket at the time, whatever its name is."""

    async def reload() -> None:
        _send(_listener(endpoint.removeprefix("unix://")))

    return reload


def _listener(path: str) -> int:
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(path)
        except OSError as error:
            raise Unavailable(f"cannot connect to {path}: {error.strerror}") from error
        peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    process_id: int = _PEER.unpack(peer)[0]
    if process_id == 0:
        raise Unavailable(
            f"the process that listens on {path} cannot be seen; "
            "the agent must share the host's process namespace (hostPID)"
        )
    return process_id


def _send(process_id: int) -> None:
    try:
        os.kill(process_id, signal.SIGHUP)
    except ProcessLookupError as error:
        raise Unavailable(f"CRI-O's process {process_id} is gone; it cannot be reloaded") from error


# Before these, a reload does not change the pins, or cannot take the last one back.
PINNING_PATCH_BY_LINE = {(1, 29): 7, (1, 30): 3}
# A reload takes CRI-O a fraction of a second; what is not pinned then does not bear the name.
NAMED_SECONDS_MAX = 3.0


class CrioPins:
    makes_tags = False  # CRI-O has no call for it

    def __init__(self, runtime: Cri, *, config: CrioConfig, reload: Reload, clock: Clock) -> None:
        self._runtime = runtime
        self._config = config
        self._reload = reload
        self._clock = clock

    async def cannot_pin(self) -> cri.CannotPin | None:
        return await self._unfit() or self._config.refusal()

    async def recorded(self) -> tuple[RecordedPin, ...]:
        """A pin without its image is listed too, as not in force, until it is let go."""
        pinned_ids = await pinning.pinned_ids(self._runtime)
        return tuple(
            RecordedPin(
                pin=record.pin,
                effective=record.image_id in pinned_ids,
                released=record.released,
            )
            for record in self._config.records()
        )

    async def outdated(self) -> bool:
        return self._config.is_outdated()

    async def write(self, pins: Collection[Pin]) -> None:
        """Taking everything back is possible beside other owners of the configuration too."""
        refusal = await (self.cannot_pin() if pins else self._unfit())
        if refusal is not None:
            raise refusal
        present = {image.id: image for image in await self._runtime.images()}
        before = self._config.records()
        # The tags that were needed before stay, so that nothing is unpinned for a moment.
        needed = {tag for record in before for tag in record.tags}
        ours = [
            _record(pin, needed.intersection(present[pin.image_id].repo_tags))
            for pin in sorted(pins, key=lambda pin: (pin.image, pin.image_id))
            if pin.image_id in present
        ]
        kept = {record.image_id for record in ours}
        released = [
            replace(record, released=True) for record in before if record.image_id not in kept
        ]
        held = await self._held_by_us_alone(released, present)
        ours = await self._put_in_force(ours, released, held=held, present=present)
        if not await pinning.in_force(self._runtime, (), released=held):
            names = ", ".join(sorted(one.image for one in released if one.image_id in held))
            raise cri.CriError(
                f"CRI-O was reloaded, but still reports as pinned: {names}. Check the log of CRI-O"
            )
        self._config.write(ours)

    async def _unfit(self) -> cri.CannotPin | None:
        """Why this runtime does not follow the configuration at all."""
        version = await self._runtime.version()
        if version.name != "cri-o":
            return cri.CannotPin(f"{version.name} does not read CRI-O's configuration")
        reason = "it needs a restart to notice pins"
        return pinning.too_old(version, patch_by_line=PINNING_PATCH_BY_LINE, reason=reason)

    async def _held_by_us_alone(
        self, released: Collection[PinRecord], present: Mapping[str, Image]
    ) -> set[str]:
        """The IDs of images that must not be pinned any more, once CRI-O has been reloaded."""
        if not released:
            return set()
        sandbox_image = (await self._runtime.status()).sandbox_image
        return {
            record.image_id
            for record in released
            if (image := present.get(record.image_id)) is not None
            and sandbox_image not in (*image.repo_tags, *image.repo_digests)
            and not self._config.is_pinned_by_others(image)
        }

    async def _put_in_force(
        self,
        ours: list[PinRecord],
        released: list[PinRecord],
        *,
        held: set[str],
        present: Mapping[str, Image],
    ) -> list[PinRecord]:
        """First by digest; then by its tags what that did not pin. Returns what is needed."""
        pins = [record.pin for record in ours]
        tagged = [_record(one.pin, present[one.image_id].repo_tags) for one in ours]
        changed = self._config.write((*ours, *released))
        is_last = tagged == ours
        if changed or released or not await pinning.in_force(self._runtime, pins):
            seconds_max = pinning.READ_BACK_SECONDS_MAX if is_last else NAMED_SECONDS_MAX
            await self._reload_and_wait(pins, held, seconds_max=seconds_max)
        if is_last:
            return ours
        pinned = await pinning.pinned_ids(self._runtime)
        ours = [
            one if one.image_id in pinned else by_tag
            for one, by_tag in zip(ours, tagged, strict=True)
        ]
        changed = self._config.write((*ours, *released))
        if changed or not await pinning.in_force(self._runtime, pins, released=held):
            await self._reload_and_wait(pins, held)
        return ours

    async def _reload_and_wait(
        self,
        pins: Collection[Pin],
        held: set[str],
        *,
        seconds_max: float = pinning.READ_BACK_SECONDS_MAX,
    ) -> None:
        await self._reload()
        await pinning.wait_until_in_force(
            self._runtime, pins, self._clock, released=held, seconds_max=seconds_max
        )


def _record(pin: Pin, tags: Collection[str]) -> PinRecord:
    return PinRecord(
        image=pin.image,
        image_id=pin.image_id,
        owners=pin.owners,
        tags=tuple(sorted(set(tags) - {pin.image})),
    )
