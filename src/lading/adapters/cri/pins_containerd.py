"""Pins on containerd: a label on the name that is the image's ID, beside labels that name its sets.

The ID's name keeps its labels when a tag is pulled again; a tag's name does not. A pin that
another party had set before us is left standing when ours is taken back. A pin that was taken back
stays recorded as released until the runtime reports the image as unpinned.

A tag is a further name of the image. Its label says whether we made it. A pull of the tag replaces
the labels, so the tag is not ours any more.
"""

import textwrap
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence, Set
from typing import TypeVar

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import Message
from grpclib.const import Status

from lading.adapters.cri import errors, pinning
from lading.kernel import digests
from lading.kernel.values import replace
from lading.ports import cri
from lading.ports.clock import Clock
from lading.ports.cri import Cri, Image, Pin, RecordedPin
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
TAG = "lading.dev/tag"
MADE, FOUND = "made", "found"
"""Values of `TAG`: we made the name or moved it; or it had the right meaning already."""
MANAGED = ("io.cri-containerd.image", "managed")
"""The label of every name that containerd's CRI plugin has made."""
FOREIGN = ("lading.dev/pinned-before", "true")

# Earlier releases know the label, but notice a change of it only when they are restarted.
PINNING_PATCH_BY_LINE = {(1, 6): 25, (1, 7): 10}
RUNTIMES_WITHOUT_HISTORY = ("lading",)

_ID_PREFIXES = tuple(f"{algorithm}:" for algorithm in digests.HEX_LENGTH_BY_ALGORITHM)
_SERVICE = pb2.DESCRIPTOR.services_by_name["Images"]

Response = TypeVar("Response", bound=Message)


class ContainerdPins:
    makes_tags = True

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
        images = {image.id: image for image in await self._runtime.images()}
        pinned_ids = {image.id for image in images.values() if image.pinned}
        listed = await self._listed()
        ours = {one.name for one in listed if TAG in one.labels}
        return tuple(
            RecordedPin(
                pin=replace(pin, tags=_tags(images.get(pin.image_id), ours)),
                effective=pin.image_id in pinned_ids,
                released=released,
            )
            for record in listed
            if _is_id(record.name)
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
        await self._restore_ids(pins)
        records = await self._records()
        # New pins come first: cut off in between, a set holds its old images or its new ones.
        for record in sorted(records.values(), key=lambda one: one.name not in wanted):
            await self._set_labels(record, _labels(record.labels, wanted.get(record.name, ())))
        await self._write_tags(pins)
        present = [pin for pin in pins if pin.image_id in records]
        released, held = await self._released()
        await pinning.wait_until_in_force(self._runtime, present, self._clock, released=held)
        await self._forget_released(released, held)

    async def _restore_ids(self, pins: Collection[Pin]) -> None:
        """Makes the name again that is an image's ID, if a person removed it."""
        names = {one.name: one for one in await self._listed()}
        for pin in pins:
            if pin.image_id not in names and pin.image in names and _is_id(pin.image_id):
                await self._create(pin.image_id, names[pin.image].target, {})

    async def _write_tags(self, pins: Collection[Pin]) -> None:
        names = {one.name: one for one in await self._listed()}
        wanted = {tag: pin for pin in pins for tag in pin.tags}
        for tag, pin in sorted(wanted.items()):
            source = names.get(pin.image, names.get(pin.image_id))
            if source is not None:
                await self._tag(tag, source.target, names.get(tag))
        for name, record in names.items():
            if TAG in record.labels and name not in wanted:
                await self._untag(record)

    async def _tag(self, name: str, target: pb2.Descriptor, found: pb2.Image | None) -> None:
        if found is None:
            await self._create(name, target, {TAG: MADE})
        elif found.target.digest != target.digest:
            await self._update(
                pb2.Image(name=name, labels={TAG: MADE}, target=target), ("target", f"labels.{TAG}")
            )
        elif TAG not in found.labels:
            await self._set_labels(found, {**found.labels, TAG: FOUND})

    async def _untag(self, record: pb2.Image) -> None:
        if record.labels[TAG] != MADE:
            await self._set_labels(record, _without(record.labels, TAG))
            return
        request = pb2.DeleteImageRequest(name=record.name)
        await self._change("Delete", request, Empty, image=record.name)

    async def _create(self, name: str, target: pb2.Descriptor, labels: Mapping[str, str]) -> None:
        image = pb2.Image(name=name, labels={MANAGED[0]: MANAGED[1], **labels}, target=target)
        request = pb2.CreateImageRequest(image=image)
        await self._change("Create", request, pb2.CreateImageResponse, image=name)

    async def _released(self) -> tuple[dict[str, pb2.Image], set[str]]:
        """Records of pins that were taken back, and the IDs that have no other pin by any name."""
        listed = await self._listed()
        released = {
            one.name: one for one in listed if _is_id(one.name) and _pins(one, RELEASED_PREFIX)
        }
        labelled = {one.name for one in listed if PINNED[0] in one.labels}
        pinned = {
            image.id
            for image in await self._runtime.images()
            if labelled & {image.id, *image.repo_tags, *image.repo_digests}
        }
        return released, released.keys() - pinned

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
        await self._update(image, [f"labels.{key}" for key in changed])

    async def _update(self, image: pb2.Image, paths: Collection[str]) -> None:
        request = pb2.UpdateImageRequest(image=image)
        request.update_mask.paths.extend(paths)
        await self._change("Update", request, pb2.UpdateImageResponse, image=image.name)

    async def _change(
        self, method: str, request: Message, response: type[Message], *, image: str
    ) -> None:
        """The next `recorded` shows a name that changed meanwhile; then pins are written again."""
        try:
            await self._call(method, request, response)
        except CallFailed as error:
            if error.status not in (Status.NOT_FOUND, Status.ALREADY_EXISTS):
                call = f"{method.lower()} of an image name"
                raise errors.translated(error, call=call, image=image) from error

    async def _call(self, method: str, request: Message, response: type[Response]) -> Response:
        return await self._channel.call(
            _SERVICE,
            method,
            request,
            response,
            metadata=NAMESPACE,
            timeout_seconds=CALL_TIMEOUT_SECONDS,
        )


def _tags(image: Image | None, ours: Set[str]) -> tuple[str, ...]:
    return tuple(sorted(ours & {*image.repo_tags})) if image is not None else ()


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
