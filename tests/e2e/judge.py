"""Whether what a cluster claims about its only node is so. Pure: it is fed with what was seen.

A claim that is there before and after a look at the runtime must be true in that look. Claims are:
a set that is Ready at its newest generation, and a node that holds a generation of a uid. What was
held once stays pinned and claimed until its set is changed, whatever is killed. A set that was
deleted stays pinned for as long as the node claims it, and an older generation until a newer one is
pinned whole. A claim never names a uid or a generation that does not exist.
"""

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from lading.api.machineconfiguration.machine_config_node import MachineConfigNode
from lading.api.machineconfiguration.pinned_image_set import PinnedImageSet
from lading.kernel import conditions
from lading.pinned_images.reasons import ConditionType


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """What was known when a look began."""

    changes: Mapping[str, int]
    held: frozenset[Version]


@dataclass(slots=True, kw_only=True)
class Judge:
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
        version = version_of(image_set)
        self._images[version] = frozenset(one.name for one in image_set.spec.pinned_images)
        return version

    def claimed(self, sets: Iterable[PinnedImageSet], node: MachineConfigNode) -> Claimed:
        """What the objects claim, which must have been read in this order."""
        sets = tuple(sets)
        return Claimed(
            by_sets=frozenset(self.saw(one) for one in sets if is_ready(one)),
            by_node=held_by(node),
            newest=frozenset(self.saw(one) for one in sets),
        )

    def begin(self) -> Beginning:
        return Beginning(changes=self._changes.copy(), held=frozenset(self._held.values()))

    def judge(
        self,
        beginning: Beginning,
        *,
        before: Claimed | None,
        pinned: Set[str],
        after: Claimed | None,
    ) -> None:
        """`before` and `after` are None where the API server did not answer."""
        changed = {name for name in self._changes if self._moved(name, beginning)}
        kept = {one for one in beginning.held if one.name not in changed}
        self._check("was held, and no one changed it since", kept, pinned)
        if before is None or after is None:
            return
        claimed = before.by_node & after.by_node
        current = {
            one for one in claimed if self._is_last(one, before) and self._is_last(one, after)
        }
        self._check("is Ready", before.by_sets & after.by_sets, pinned)
        self._check("is held by its node", current, pinned)
        self._check_earlier({one for one in claimed if one.name not in changed}, pinned)
        assert kept <= after.by_node, f"a true claim is withdrawn: {kept - after.by_node}"
        for one in claimed & after.newest:
            if one.name not in changed:
                self._held[one.name] = one

    def _moved(self, name: str, beginning: Beginning) -> bool:
        """The set was changed since, or is being changed."""
        count = self._changes[name]
        return count != beginning.changes.get(name, 0) or count % 2 == 1

    def _check(self, claim: str, versions: Set[Version], pinned: Set[str]) -> None:
        self.checked += len(versions)
        for one in versions:
            missing = self._images[one] - pinned
            assert not missing, f"{one} {claim}, and is not pinned: {sorted(missing)}"

    def _check_earlier(self, versions: Set[Version], pinned: Set[str]) -> None:
        """Also what is not the newest: a later version of the set may have taken its place."""
        for one in versions:
            assert any(
                (other.name, other.uid) == (one.name, one.uid)
                and other.generation >= one.generation
                for other in self._images
            ), f"{one} is held by its node, and never was"
            assert one not in self._images or any(
                self._images[other] <= pinned for other in self._since(one)
            ), f"{one} is held by its node, and neither it nor a later one is pinned"

    def _since(self, version: Version) -> list[Version]:
        """This one and all of its name that were seen later."""
        seen = list(self._images)
        return [one for one in seen[seen.index(version) :] if one.name == version.name]

    def _is_last(self, version: Version, claimed: Claimed) -> bool:
        """The newest of its set, or the last one of a set that was deleted."""
        if version in claimed.newest:
            return True
        generations = [one.generation for one in self._images if one.uid == version.uid]
        is_gone = version.name not in {one.name for one in claimed.newest}
        return is_gone and version.generation == max(generations, default=0)


def version_of(image_set: PinnedImageSet) -> Version:
    metadata = image_set.metadata
    return Version(metadata.name, metadata.uid, metadata.generation)


def held_by(node: MachineConfigNode) -> frozenset[Version]:
    """As its status has it, read without the code of the controller."""
    return frozenset(
        Version(entry.name, entry.uid, entry.current_generation)
        for entry in node.status.pinned_image_sets
        if entry.current_generation
    )


def is_ready(image_set: PinnedImageSet) -> bool:
    """At its newest generation."""
    found = conditions.find(image_set.status.conditions, ConditionType.READY)
    return (
        found is not None
        and found.status is conditions.Truth.TRUE
        and found.observed_generation == image_set.metadata.generation
    )


def differences(
    desired: Mapping[str, Set[str]],
    images: Set[str],
    *,
    pinned: Set[str],
    sets: Iterable[PinnedImageSet],
    node: MachineConfigNode,
) -> list[str]:
    """What is not as it must be when everything runs again; only pins of `images` count."""
    sets = tuple(sets)
    found = wrong_pins(desired, images, pinned)
    found += [f"{one.metadata.name} is not Ready" for one in sets if not is_ready(one)]
    claimed = {(one.name, one.uid, one.current_generation) for one in node.status.pinned_image_sets}
    existing = {version_of(one) for one in sets}
    found += [f"the node reports {claimed}, not {existing}"] if claimed != existing else []
    if {one.name for one in existing} != set(desired):
        found.append(f"the API server has {existing}")
    return found


def wrong_pins(desired: Mapping[str, Set[str]], images: Set[str], pinned: Set[str]) -> list[str]:
    wanted = set[str]().union(*desired.values())
    ours = pinned & images
    return [
        *(f"{one} is not pinned" for one in sorted(wanted - ours)),
        *(f"{one} is still pinned" for one in sorted(ours - wanted)),
    ]
