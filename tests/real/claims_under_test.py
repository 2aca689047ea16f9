"""What a cluster claims about its only node, and whether the runtime itself agrees.

A claim that is there before and after a look at the runtime must be true in that look. Claims are:
a set that is Ready at its newest generation, and a node that holds that generation of that uid, or
still holds the last one of a set that was deleted. What was held once stays pinned and claimed
until its set is changed, whatever is killed.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS, PinnedImageSet
from lading.kernel import conditions
from lading.pinned_images import claims
from lading.pinned_images.reasons import ConditionType
from lading.ports import cri, kube
from tests.e2e.cluster import ClusterUnderTest, NodeUnderTest

ANSWER_SECONDS_MAX = 5.0
LOOK_SECONDS = 0.2


class Version(NamedTuple):
    """One generation of one set; a set made again under its name has another uid."""

    name: str
    uid: str
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    by_sets: frozenset[Version]
    by_node: frozenset[Version]
    newest: frozenset[Version]
    """Of every set that exists."""


@dataclass(slots=True, kw_only=True)
class Judge:
    cluster: ClusterUnderTest
    checked: int = 0
    """Claims that were compared with the runtime."""
    _images: dict[Version, frozenset[str]] = field(default_factory=dict)
    _held: dict[str, Version] = field(default_factory=dict)
    _changes: Counter[str] = field(default_factory=Counter)
    """By set; it is odd while a change is under way."""

    @contextlib.contextmanager
    def change(self, name: str) -> Iterator[None]:
        """While a set is written or deleted: from its begin the pins may go."""
        self._held.pop(name, None)
        self._changes[name] += 1
        yield
        self._changes[name] += 1

    def saw(self, image_set: PinnedImageSet) -> Version:
        metadata = image_set.metadata
        version = Version(metadata.name, metadata.uid, metadata.generation)
        self._images[version] = frozenset(one.name for one in image_set.spec.pinned_images)
        return version

    async def watch(self) -> None:
        """Looks again and again, until it is cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        changes, held, before = (
            self._changes.copy(),
            set(self._held.values()),
            await self._claimed(),
        )
        pinned = await self._pinned()
        if pinned is None:
            return
        after = await self._claimed()
        changed = {name for name, count in self._changes.items() if count != changes[name]}
        kept = {one for one in held if one.name not in changed}
        self._check("was held, and nobody changed it since", kept, pinned)
        if before and after:
            self._check("is Ready", before.by_sets & after.by_sets, pinned)
            self._check("is held by its node", before.by_node & after.by_node, pinned)
            assert kept <= after.by_node, f"a true claim is withdrawn: {kept - after.by_node}"
            for one in before.by_node & after.by_node & after.newest:
                if one.name not in changed and self._changes[one.name] % 2 == 0:
                    self._held[one.name] = one

    def _check(self, claim: str, versions: Set[Version], pinned: set[str]) -> None:
        self.checked += len(versions)
        for one in versions:
            missing = self._images[one] - pinned
            assert not missing, f"{one} {claim}, and is not pinned: {sorted(missing)}"

    async def _claimed(self) -> Claimed | None:
        """None while the API server does not answer."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS_MAX):
                sets = (await self.cluster.kube.page(PINNED_IMAGE_SETS)).items
                reported = await self.cluster.machine_config_node(self._node)
        except (kube.KubeError, TimeoutError):
            return None
        newest = frozenset(self.saw(one) for one in sets)
        held = {Version(name, *claim) for name, claim in claims.held(reported).items()}
        left = {one for one in held if one.name not in {other.name for other in newest}}
        return Claimed(
            by_sets=frozenset(self.saw(one) for one in sets if is_ready(one)),
            by_node=frozenset(held & newest | {one for one in left if self._is_last(one)}),
            newest=newest,
        )

    def _is_last(self, version: Version) -> bool:
        generations = [one.generation for one in self._images if one.uid == version.uid]
        return version.generation == max(generations, default=0) != 0

    async def _pinned(self) -> set[str] | None:
        """None while the runtime does not answer."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS_MAX):
                return await self._node.pinned()
        except (cri.Transient, TimeoutError):
            return None

    @property
    def _node(self) -> NodeUnderTest:
        (node,) = self.cluster.nodes
        return node


def is_ready(image_set: PinnedImageSet) -> bool:
    """At its newest generation."""
    found = conditions.find(image_set.status.conditions, ConditionType.READY)
    return (
        found is not None
        and found.status is conditions.Truth.TRUE
        and found.observed_generation == image_set.metadata.generation
    )
