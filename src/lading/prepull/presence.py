"""The names by which a node lists an image, and the proof that an image is gone. Pure.

A kubelet lists the 50 largest images with at most five names each, so a missing name proves
something only in a shorter list.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from lading.api.core import ContainerStatus, ListedNode
from lading.kernel import references
from lading.kernel.errors import Malformed

IMAGES_MAX = 50  # the default of the kubelet's nodeStatusMaxImages
NAMES_MAX = 5  # the kubelet's own limit


class ImageList(msgspec.Struct, frozen=True):
    """The list of one kubelet."""

    numbers: "array[int]"
    """One for each name, sorted."""
    is_whole: bool
    reported_at: datetime | None
    delay: timedelta
    """The maximum age of the list when it was reported."""

    def lacks(self, names: Iterable[str], *, since: datetime) -> bool:
        """Whether it proves that the image was removed after `since`."""
        if not self.is_whole or self.reported_at is None or self.reported_at < since + self.delay:
            return False
        return not any(self._has(name) for name in names)

    def proves(self, names: Iterable[str]) -> bool:
        """Whether it says anything about the image."""
        return self.is_whole or any(self._has(name) for name in names)

    def _has(self, name: str) -> bool:
        number = hash(name)
        place = bisect_left(self.numbers, number)
        return place < len(self.numbers) and self.numbers[place] == number


def of_node(node: ListedNode, *, delay: timedelta) -> ImageList:
    listed = node.status.images
    names = (name for one in listed for name in one.names)
    beats = (one.last_heartbeat_time for one in node.status.conditions if one.type == "Ready")
    beat = next(beats, "")
    return ImageList(
        numbers=array("q", sorted(map(hash, names))),
        is_whole=len(listed) < IMAGES_MAX and all(len(one.names) < NAMES_MAX for one in listed),
        reported_at=datetime.fromisoformat(beat) if beat else None,
        delay=delay,
    )


def names(url: str, status: ContainerStatus | None) -> tuple[str, ...]:
    """The names under which a held image may be listed; none if they are unknown.

    A runtime may resolve a short name to any registry. Only the status of a container of the image
    itself shows which one.
    """
    if status is not None:
        return (name_in_runtime(url), *filter(None, (url, status.image, status.image_id)))
    return (name_in_runtime(url),) if references.parse(url).registry else ()


def name_in_runtime(url: str) -> str:
    try:
        reference = references.qualified(url)
    except Malformed:
        return url
    return str(reference.at(reference.digest) if reference.digest else reference)
