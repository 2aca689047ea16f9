"""The graph of an inventory: which manifest needs which manifests and blobs. Pure.

Edges go from an index to its manifests, from a manifest to its blobs, and from a subject to what is
attached to it, because a signature lives exactly as long as what it signs. A signature by tag
(`sha256-HEX.sig`) may be in another repository than its subject.
"""

import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lading.pruning.engine import graph
from lading.pruning.engine.graph import NOT_THERE, DigestNumbers, Graph, Marks
from lading.pruning.engine.types import Inventory, Manifest

ATTACHED_TAG = re.compile(r"(sha256)-([0-9a-f]{64})(?:\.[A-Za-z0-9._-]*)?|(sha512)-([0-9a-f]{128})")


def subject_of_tag(tag: str) -> str:
    """The digest that a tag is attached to; empty for a tag of its own."""
    match = ATTACHED_TAG.fullmatch(tag)
    if match is None:
        return ""
    return f"{match[1] or match[3]}:{match[2] or match[4]}"


def attachments(inventory: Inventory) -> Iterator[tuple[str, str]]:
    """(subject, attached) digests: by `subject`, and by the names of tags."""
    for manifest in inventory.manifests.values():
        if manifest.subject:
            yield manifest.subject, manifest.digest
    for repository in inventory.repositories.values():
        for tag in repository.tags:
            if subject := subject_of_tag(tag.name):
                for revision in tag.revisions:
                    yield subject, revision.digest


@dataclass(slots=True)
class _Columns:
    """Two numbers for each digest of a column, while the column grows."""

    keys: "array[int]" = field(default_factory=lambda: array("Q"))
    checks: "array[int]" = field(default_factory=lambda: array("Q"))

    def add(self, numbers: tuple[int, int]) -> None:
        self.keys.append(numbers[0])
        self.checks.append(numbers[1])

    def as_numpy(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        if not self.keys:
            return np.zeros(0, np.uint64), np.zeros(0, np.uint64)
        return np.frombuffer(self.keys, np.uint64), np.frombuffer(self.checks, np.uint64)


@dataclass(frozen=True, slots=True)
class Content:
    """The graph with the way from a digest to its node."""

    numbers: DigestNumbers
    graph: Graph

    def node(self, digest: str) -> int:
        return self.numbers.find(digest)

    def marks(self, digests: Iterable[str]) -> Marks:
        """What is reachable from these digests; those that are not here are passed over."""
        return self.graph.reachable(self._nodes(digests))

    def holders(self, digests: Iterable[str]) -> Marks:
        """What one of these digests is reachable from, themselves included."""
        return self.graph.reversed().reachable(self._nodes(digests))

    def is_marked(self, marks: Marks, digest: str) -> bool:
        node = self.node(digest)
        return node != NOT_THERE and bool(marks[node])

    def _nodes(self, digests: Iterable[str]) -> list[int]:
        return [node for node in map(self.node, digests) if node != NOT_THERE]


def build(inventory: Inventory) -> Content:
    sources, targets = _Columns(), _Columns()
    known: dict[str, tuple[int, int]] = {}

    def numbers(digest: str) -> tuple[int, int]:
        found = known.get(digest)
        if found is None:
            found = known[digest] = graph.numbers_of(digest)
        return found

    def add(source: str, target: str) -> None:
        sources.add(numbers(source))
        targets.add(numbers(target))

    for manifest in inventory.manifests.values():
        for target in needs(manifest):
            add(manifest.digest, target)
        add(manifest.digest, manifest.digest)  # a manifest without any edge is a node as well
    for subject, attached in attachments(inventory):
        add(subject, attached)
    known.clear()
    return _content(sources, targets)


def needs(manifest: Manifest) -> tuple[str, ...]:
    return (*manifest.children, *manifest.blobs)


def _content(sources: _Columns, targets: _Columns) -> Content:
    (source_keys, source_checks), (target_keys, target_checks) = (
        sources.as_numpy(),
        targets.as_numpy(),
    )
    table, columns = graph.numbered([source_keys, target_keys], [source_checks, target_checks])
    return Content(table, graph.from_pairs(columns[0], columns[1], node_count=len(table.keys)))
