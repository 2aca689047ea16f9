"""Marks the kept manifests of each repository of a plain registry, in one graph. Pure.

A node is a manifest in a repository, because a manifest may be kept in one repository and deleted
from another. Edges go from a manifest to its needs, and from a subject to what is attached to it.
"""

from array import array
from collections.abc import Iterator, Mapping

import msgspec
import numpy as np

from lading.pruning.engine.decisions.rules import Facts
from lading.pruning.engine.inventory import content, graph
from lading.pruning.engine.inventory.graph import Ids, Marks
from lading.pruning.engine.types import (
    Decision,
    Inventory,
    PruneReason,
    Repository,
    Tag,
    TagVerdicts,
    Verdict,
)

DatedVerdicts = Mapping[str, Mapping[str, Verdict]]


class Live(msgspec.Struct, frozen=True):
    """Whether each manifest of each repository is kept, in the order of the inventory."""

    marks: Marks
    begins: Mapping[str, int]

    def flags(self, repository: Repository) -> Iterator[tuple[str, bool]]:
        begin = self.begins[repository.name]
        flags = self.marks[begin : begin + len(repository.manifests)].tolist()
        return zip(repository.manifests, flags, strict=True)


class _Nodes(msgspec.Struct):
    """The graph while it is built, and the data to mark it."""

    count: int = 0
    begins: dict[str, int] = {}
    sources: "array[int]" = msgspec.field(default_factory=lambda: array("i"))
    targets: "array[int]" = msgspec.field(default_factory=lambda: array("i"))
    roots: "array[int]" = msgspec.field(default_factory=lambda: array("i"))
    subjects: list[tuple[str, int]] = []
    """The nodes of each digest that has an attached tag."""
    with_attached: dict[str, dict[str, int]] = {}
    """The nodes by digest, of repositories with attached tags."""


def live(inventory: Inventory, facts: Facts, tags: TagVerdicts, dated: DatedVerdicts) -> Live:
    """Adds the verdicts of tags like `sha256-HEX.sig`: they are kept with their subject.

    The subject may be in another repository. If it is unknown, they are kept.
    """
    marking = _Marking(inventory, facts, tags, dated)
    nodes = marking.nodes()
    built = graph.from_pairs(_ids(nodes.sources), _ids(nodes.targets), node_count=nodes.count)
    marks = built.reachable(nodes.roots)
    followed = [*marking.followed(nodes, marks)]
    if followed:
        marks = marks | built.reachable(followed)
    return Live(marks, nodes.begins)


class _Marking:
    def __init__(
        self, inventory: Inventory, facts: Facts, tags: TagVerdicts, dated: DatedVerdicts
    ) -> None:
        self._inventory = inventory
        self._facts = facts
        self._tags = tags
        self._dated = dated
        self._attached: dict[str, list[str]] = {}
        for subject, attached in content.attachments(inventory):
            self._attached.setdefault(subject, []).append(attached)
        repositories = inventory.repositories.values()
        self._subjects = {
            subject
            for repository in repositories
            for tag in repository.tags
            if (subject := content.subject_of_tag(tag.name))
        }
        self._in_place = {
            digest
            for repository in (repositories if self._subjects else ())
            for digest in repository.manifests
            if digest in self._subjects
        }

    def nodes(self) -> _Nodes:
        found = _Nodes()
        for repository in self._inventory.repositories.values():
            own = self._add(repository, found)
            found.roots.extend(own[digest] for digest in self._roots(repository))
            if any(content.subject_of_tag(tag.name) for tag in repository.tags):
                found.with_attached[repository.name] = own
        return found

    def _add(self, repository: Repository, found: _Nodes) -> dict[str, int]:
        """First the manifests of the repository, then their needs that it does not have."""
        found.begins[repository.name] = begin = found.count
        tagged = (tag.digest for tag in repository.tags)
        dated = self._dated[repository.name]
        pending = [*dict.fromkeys((*repository.manifests, *tagged, *dated))]
        own = {digest: begin + position for position, digest in enumerate(pending)}
        for digest in pending:  # it grows meanwhile
            for needed in self._needed(digest):
                if needed not in own:
                    own[needed] = begin + len(own)
                    pending.append(needed)
                found.sources.append(own[digest])
                found.targets.append(own[needed])
        found.count += len(own)
        found.subjects += ((one, own[one]) for one in self._subjects & own.keys())
        return own

    def _needed(self, digest: str) -> Iterator[str]:
        yield from self._inventory.manifests.manifests_needed(digest)
        yield from self._attached.get(digest, ())

    def _roots(self, repository: Repository) -> Iterator[str]:
        name = repository.name
        if repository.opaque_digests or name in self._facts.kept_repositories:
            yield from repository.manifests
            return
        yield from (tag.digest for tag in repository.tags if self._is_root(name, tag))
        for digest, verdict in self._dated[name].items():
            if verdict.decision is Decision.KEEP:
                yield digest
        yield from (one for one in repository.manifests if self._facts.holds_used(one))

    def _is_root(self, repository: str, tag: Tag) -> bool:
        verdict = self._tags.get((repository, tag.name))
        if verdict is not None:
            return verdict.decision is Decision.KEEP
        return content.subject_of_tag(tag.name) not in self._in_place

    def followed(self, nodes: _Nodes, marks: Marks) -> Iterator[int]:
        """The nodes of attached tags that are kept with their subject."""
        alive = {digest for digest, node in nodes.subjects if marks[node]}
        for name, own in nodes.with_attached.items():
            for tag in self._inventory.repositories[name].tags:
                subject = content.subject_of_tag(tag.name)
                if subject and (name, tag.name) not in self._tags:
                    is_live = bool(marks[own[tag.digest]])
                    stays = is_live or subject in alive or subject not in self._in_place
                    self._tags[name, tag.name] = _verdict(subject, stays=stays)
                    if stays:
                        yield own[tag.digest]


def _verdict(subject: str, *, stays: bool) -> Verdict:
    if stays:
        return Verdict(Decision.KEEP, PruneReason.REACHABLE, f"attached to {subject}")
    return Verdict(Decision.DELETE, PruneReason.SUBJECT_GONE, f"{subject} goes")


def _ids(numbers: "array[int]") -> Ids:
    return np.asarray(numbers, dtype=np.int32)
