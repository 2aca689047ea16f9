"""Pins on containerd: a label on the name that is the image's ID, beside labels that name its sets.

The ID's name keeps its labels when a tag is pulled again; a tag's name does not. A pin that
another party had set before us is left standing when ours is taken back. A pin that was taken back
stays recorded as released until the runtime reports the image as unpinned.
"""

import textwrap
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from google.protobuf.message import Message
from grpclib.const import Status

from lading.adapters.cri import errors, pinning
from lading.kernel import digests
from lading.ports import cri
from lading.ports.clock import Clock
from lading.ports.cri import Cri, Pin, RecordedPin
from lading.wire import containerd_images_pb2 as pb2
from lading.wire.calls import CallFailed, Channel

CALL_TIMEOUT_SECONDS = 30.0
NAMESPACE = (("containerd-namespace", "k8s.io"),)
"""Where containerd keeps the images that CRI lists."""

PINNED = ("io.cri-containerd.pinned", "pinned")
OWNER_PREFIX = "lading.dev/pinned-by/"
"""The rest of the key is the owner; the value holds the references, separated by spaces."""
CONTINUED = "#"
"""With a number it ends the keys of an owner's further labels; the name of no owner holds it."""
REFERENCES_CHARACTERS_MAX = 3500  # of one label; containerd takes 4096 bytes with the key
RELEASED_PREFIX = "lading.dev/unpinned-by/"
"""Like `OWNER_PREFIX`, for a pin that was taken back and not yet seen to be gone."""
FOREIGN = ("lading.dev/pinned-before", "true")

# Earlier releases know the label, but notice a change of it only when they are restarted.
PINNING_PATCH_BY_LINE = {(1, 6): 25, (1, 7): 10}
RUNTIMES_WITHOUT_HISTORY = ("lading",)

_ID_PREFIXES = tuple(f"{algorithm}:" for algorithm in digests.HEX_LENGTH_BY_ALGORITHM)
_SERVICE = pb2.DESCRIPTOR.services_by_name["Images"]

Response = TypeVar("Response", bound=Message)


class ContainerdPins:
    def __init__(self, channel: Channel, runtime: Cri, clock: Clock) -> None:
        self._channel = channel
        self._runtime = runtime
        self._clock = clock

    async def cannot_pin(self) -> cri.CannotPin | None:
        version = await self._runtime.version()
        if version.name in RUNTIMES_WITHOUT_HISTORY:
            return None
        if version.name != "containerd":
            return cri.CannotPin(f"{version.name} does not pin by containerd's labels")
        reason = "it does not follow the label of a pin"
        return pinning.too_old(version, patch_by_line=PINNING_PATCH_BY_LINE, reason=reason)

    async def recorded(self) -> tuple[RecordedPin, ...]:
        pinned_ids = await pinning.pinned_ids(self._runtime)
        return tuple(
            RecordedPin(pin=pin, effective=pin.image_id in pinned_ids, released=released)
            for record in (await self._records()).values()
            for prefix, released in ((OWNER_PREFIX, False), (RELEASED_PREFIX, True))
            for pin in _pins(record, prefix)
        )

    async def outdated(self) -> bool:
        """Every image has its own labels: ours hide nothing."""
        return False

    async def write(self, pins: Collection[Pin]) -> None:
        refusal = await self.cannot_pin()
        if refusal is not None:
            raise refusal
        wanted: dict[str, list[Pin]] = defaultdict(list)
        for pin in pins:
            wanted[pin.image_id].append(pin)
        records = await self._records()
        # New pins come first: cut off in between, a set holds its old images or its new ones.
        for record in sorted(records.values(), key=lambda one: one.name not in wanted):
            await self._set_labels(record, _labels(record.labels, wanted.get(record.name, ())))
        present = [pin for pin in pins if pin.image_id in records]
        released, held = await self._released()
        await pinning.wait_until_in_force(self._runtime, present, self._clock, released=held)
        await self._forget_released(released, held)

    async def _released(self) -> tuple[dict[str, pb2.Image], set[str]]:
        """Records of pins that were taken back, and the IDs that have no other pin by any name."""
        listed = await self._listed()
        released = {
            one.name: one for one in listed if _is_id(one.name) and _pins(one, RELEASED_PREFIX)
        }
        pinned = {one.target.digest for one in listed if PINNED[0] in one.labels}
        held = {name for name, one in released.items() if one.target.digest not in pinned}
        return released, held

    async def _forget_released(self, released: Mapping[str, pb2.Image], held: set[str]) -> None:
        """What the runtime still reports as pinned stays recorded, so that it is written again."""
        pinned = (await pinning.pinned_ids(self._runtime)) & held if held else set()
        for name, record in released.items():
            if name not in pinned:
                await self._set_labels(record, _without(record.labels, RELEASED_PREFIX))
        if pinned:
            names = ", ".join(sorted(pinned))
            raise cri.CriError(
                f"containerd still reports as pinned after its label was removed: {names}"
            )

    async def _records(self) -> dict[str, pb2.Image]:
        """The records with image IDs as names."""
        return {one.name: one for one in await self._listed() if _is_id(one.name)}

    async def _listed(self) -> Sequence[pb2.Image]:
        request = pb2.ListImagesRequest()
        try:
            answer = await self._call("List", request, pb2.ListImagesResponse)
        except CallFailed as error:
            raise errors.translated(error, call="listing containerd's images") from error
        return answer.images

    async def _set_labels(self, record: pb2.Image, labels: Mapping[str, str]) -> None:
        keys = record.labels.keys() | labels.keys()
        changed = sorted(key for key in keys if record.labels.get(key) != labels.get(key))
        if not changed:
            return
        # containerd crashes on an update without a target; with the mask the target stays.
        image = pb2.Image(name=record.name, labels=labels, target=record.target)
        request = pb2.UpdateImageRequest(image=image)
        request.update_mask.paths.extend(f"labels.{key}" for key in changed)
        try:
            await self._call("Update", request, pb2.UpdateImageResponse)
        except CallFailed as error:
            if error.status is Status.NOT_FOUND:
                return  # removed meanwhile; `recorded` will not list it
            raise errors.translated(error, call="labelling", image=record.name) from error

    async def _call(self, method: str, request: Message, response: type[Response]) -> Response:
        return await self._channel.call(
            _SERVICE,
            method,
            request,
            response,
            metadata=NAMESPACE,
            timeout_seconds=CALL_TIMEOUT_SECONDS,
        )


def _is_id(name: str) -> bool:
    return name.startswith(_ID_PREFIXES)


def _without(labels: Mapping[str, str], *prefixes: str) -> dict[str, str]:
    return {key: value for key, value in labels.items() if not key.startswith(prefixes)}


def _pins(record: pb2.Image, prefix: str) -> list[Pin]:
    owners: dict[str, set[str]] = defaultdict(set)
    for key, references in record.labels.items():
        if key.startswith(prefix):
            for reference in references.split():
                owners[reference].add(key.removeprefix(prefix).partition(CONTINUED)[0])
    return [
        Pin(image=reference, image_id=record.name, owners=tuple(sorted(names)))
        for reference, names in sorted(owners.items())
    ]


def _labels(before: Mapping[str, str], pins: Collection[Pin]) -> dict[str, str]:
    """All labels of the record as they must be; what is not ours is kept."""
    ours = any(key.startswith(OWNER_PREFIX) for key in before)
    is_foreign = before.get(FOREIGN[0]) == FOREIGN[1] if ours else PINNED[0] in before
    labels = _without(before, OWNER_PREFIX, PINNED[0], FOREIGN[0])
    if pins:
        labels = _without(labels, RELEASED_PREFIX)
    elif ours:
        labels |= {
            key.replace(OWNER_PREFIX, RELEASED_PREFIX, 1): value
            for key, value in before.items()
            if key.startswith(OWNER_PREFIX)
        }
    references: dict[str, set[str]] = defaultdict(set)
    for pin in pins:
        for owner in pin.owners:
            references[owner].add(pin.image)
    for owner, images in references.items():
        labels |= _owner_labels(owner, images)
    if is_foreign or pins:
        labels[PINNED[0]] = PINNED[1]
    if is_foreign and pins:
        labels[FOREIGN[0]] = FOREIGN[1]
    return labels


def _owner_labels(owner: str, references: Collection[str]) -> dict[str, str]:
    """One label, or as many as it takes."""
    values = textwrap.wrap(
        " ".join(sorted(references)),
        REFERENCES_CHARACTERS_MAX,
        break_long_words=False,
        break_on_hyphens=False,
    )
    keys = ("", *(f"{CONTINUED}{number}" for number in range(2, len(values) + 1)))
    return {f"{OWNER_PREFIX}{owner}{key}": value for key, value in zip(keys, values, strict=True)}
