"""The images of a plan while it is executed: the lines of each, and what became of them."""

from collections.abc import Iterable

import msgspec

from lading.pruning.engine.effects.outcomes import PruneOutcome, Result
from lading.pruning.engine.inventory import content
from lading.pruning.engine.trash.trash import Record
from lading.pruning.engine.types import Deletion, Inventory, What

_Identity = tuple[str, str, str, str]


class Group(msgspec.Struct, kw_only=True, eq=False):
    """Lines that are deleted together, because they share a manifest or belong to one."""

    lines: list[Deletion]
    contained: frozenset[str]
    """What its manifests hold: some runtimes name what they run by its configuration."""
    follows: frozenset[str]
    """The images in other repositories that its tags like `sha256-HEX.sig` belong to."""
    record: Record | None = None
    is_begun: bool = False
    user: str = ""
    results: dict[_Identity, PruneOutcome] = {}

    @property
    def repository(self) -> str:
        return self.lines[0].repository

    @property
    def manifests(self) -> list[Deletion]:
        return [line for line in self.lines if line.what is What.MANIFEST]

    @property
    def tags_alone(self) -> list[Deletion]:
        """The tags of manifests that are not deleted."""
        going = {line.digest for line in self.manifests}
        return [line for line in self.lines if line.tag and line.digest not in going]

    @property
    def is_ended(self) -> bool:
        return len(self.results) == len(self.lines)

    @property
    def is_changed(self) -> bool:
        return any(one.result is not Result.DELETED for one in self.results.values())

    @property
    def is_gone(self) -> bool:
        """Whether something of it was deleted and is not there again."""
        return any(one.result is Result.DELETED for one in self.results.values())

    @property
    def stays(self) -> bool:
        kept = (self.results.get(line.identity) for line in self.manifests)
        return any(one is None or one.result is not Result.DELETED for one in kept)

    def deleted(self, what: What) -> list[Deletion]:
        every = (one for one in self.results.values() if one.result is Result.DELETED)
        return [one.line for one in every if one.line.what is what]

    def set(self, line: Deletion, result: Result, message: str = "") -> None:
        self.results[line.identity] = PruneOutcome(line=line, result=result, message=message)

    def end(self, result: Result, message: str) -> None:
        """For all lines that have no result yet."""
        for line in self.lines:
            if line.identity not in self.results:
                self.set(line, result, message)

    def replace(self, result: Result, message: str) -> None:
        self.results = {}
        self.end(result, message)

    def pushed_again(self, digest: str) -> None:
        for line in self.lines:
            if line.digest == digest:
                self.set(line, Result.CHANGED, "it was pushed again")

    def outcomes(self) -> list[PruneOutcome]:
        return [self.results[line.identity] for line in self.lines if line.identity in self.results]


def grouped(lines: Iterable[Deletion], inventory: Inventory) -> list[Group]:
    found: dict[tuple[str, str], list[Deletion]] = {}
    for line in lines:
        found.setdefault(line.lane, []).append(line)
    return [_group(own, inventory) for own in found.values()]


def _group(lines: list[Deletion], inventory: Inventory) -> Group:
    own = {line.digest for line in lines}
    known = (inventory.manifests.get(one) for one in own)
    subjects = (content.subject_of_tag(line.tag) for line in lines)
    return Group(
        lines=lines,
        contained=frozenset(needed for one in known if one for needed in content.needs(one)),
        follows=frozenset(one for one in subjects if one and one not in own),
    )
