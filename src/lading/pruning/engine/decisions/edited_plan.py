"""Reduces a plan from which a user removed lines. Pure.

Only lines of the new plan count, and of those only the ones that break no kept image.
"""

from collections.abc import Callable, Iterable, Iterator, Set

from lading.pruning.engine.decisions import registry_plan
from lading.pruning.engine.inventory import content
from lading.pruning.engine.types import Deletion, Inventory, PrunePlan, Source, What

_NEEDED = (What.BLOB, What.IMAGE)
Place = tuple[str, str]
"""A repository and a digest. The repository of an Image object is empty."""


def common(old: Iterable[Deletion], new: PrunePlan) -> tuple[Deletion, ...]:
    """The deletions of both plans, in the order of the new one: the file may be sorted."""
    chosen = {line.identity for line in old}
    return tuple(line for line in new.deletions if line.identity in chosen)


def consistent(
    lines: Iterable[Deletion], plan: PrunePlan, inventory: Inventory
) -> tuple[Deletion, ...]:
    """Removes the lines that would break a kept image because other lines are missing.

    A manifest is deleted only with every tag and every index of its repository that needs it, and
    with its subject; a blob only with every Image that has it; a tag only with the manifest that
    the plan deletes with it, because nothing else leads to that; a signature only with its subject.
    """
    chosen = tuple(lines)
    if len(chosen) == len(plan.deletions):
        return chosen  # the plan itself breaks nothing
    if inventory.source is Source.IMAGE_STREAMS:
        return _until_nothing_changes(chosen, lambda left: _needed_by_images(left, inventory))
    rest = _Rest(inventory)
    with_manifest = {
        (line.repository, line.digest) for line in plan.deletions if line.what is What.MANIFEST
    }

    def breaking(left: tuple[Deletion, ...]) -> Callable[[Deletion], bool]:
        gone = {(line.repository, line.digest) for line in left if line.what is What.MANIFEST}
        tags = {(line.repository, line.tag) for line in left if line.what is What.TAG}
        needed, found_by_others = rest.needed(gone, tags)
        staying = {digest for _, digest in needed}
        with_tag_or_gone = gone | found_by_others

        def breaks(line: Deletion) -> bool:
            place = line.repository, line.digest
            if line.what is not What.TAG:
                return place in needed
            if content.subject_of_tag(line.tag) in staying:
                return True
            return place in with_manifest and place not in with_tag_or_gone

        return breaks

    return _until_nothing_changes(chosen, breaking)


def _until_nothing_changes(
    chosen: tuple[Deletion, ...],
    breaking: Callable[[tuple[Deletion, ...]], Callable[[Deletion], bool]],
) -> tuple[Deletion, ...]:
    while True:
        breaks = breaking(chosen)
        kept = tuple(line for line in chosen if not breaks(line))
        if len(kept) == len(chosen):
            return kept
        chosen = kept


def _needed_by_images(
    lines: tuple[Deletion, ...], inventory: Inventory
) -> Callable[[Deletion], bool]:
    """The manifest of an Image is also a blob, with its own line."""
    gone = {line.digest for line in lines if line.what is What.IMAGE}
    kept = [one for one in inventory.manifests if one not in gone]
    needed = registry_plan.closure(kept, lambda one: _needs(inventory, one))
    return lambda line: line.what in _NEEDED and line.digest in needed


class _Rest:
    """The kept manifests and tags of a registry."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory
        self._attached: dict[str, list[str]] = {}
        for subject, attached in content.attachments(inventory):
            self._attached.setdefault(subject, []).append(attached)

    def needed(self, gone: Set[Place], tags: Set[tuple[str, str]]) -> tuple[set[Place], set[Place]]:
        """All that stays without these manifests and tags, with its needs and signatures.

        Then the part that a tag or an index leads to: without a list of referrers, the next run
        could not find the rest.
        """
        needed: set[Place] = set()
        found: set[Place] = set()
        for name, repository in self._inventory.repositories.items():
            tagged = {tag.digest for tag in repository.tags if (name, tag.name) not in tags}
            kept = {one for one in repository.manifests if (name, one) not in gone}
            own = registry_plan.closure(kept | tagged, self._next)
            needed |= {(name, digest) for digest in own}
            found |= {(name, digest) for digest in tagged}
            found |= {(name, digest) for one in own for digest in self._held(one)}
        return needed, found

    def _next(self, digest: str) -> tuple[str, ...]:
        return (*self._held(digest), *self._attached.get(digest, ()))

    def _held(self, digest: str) -> Iterator[str]:
        """Only manifests, because no line is about a blob and there are many."""
        manifests = self._inventory.manifests
        return (one for one in _needs(self._inventory, digest) if one in manifests)


def _needs(inventory: Inventory, digest: str) -> tuple[str, ...]:
    manifest = inventory.manifests.get(digest)
    return content.needs(manifest) if manifest else ()
