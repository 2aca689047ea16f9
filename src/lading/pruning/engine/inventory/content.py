"""The graph of an inventory: which manifest needs which manifests and blobs. Pure.

Edges go from an index to its manifests, from a manifest to its blobs, and from a subject to its
referrers, because a signature is kept exactly as long as its subject. A signature by tag
(`sha256-HEX.sig`) may be in another repository than its subject.
"""

import re
from array import array
from collections.abc import Iterable, Iterator

import msgspec
import numpy as np

from lading.pruning.engine.inventory import graph
from lading.pruning.engine.inventory.graph import NOT_THERE, DigestNumbers, Graph, Ids, Keys, Marks
from lading.pruning.engine.inventory.manifest_table import InventoryManifest
from lading.pruning.engine.types import Inventory, Repository

ATTACHED_TAG = re.compile(r"(sha256)-([0-9a-f]{64})(?:\.[A-Za-z0-9._-]*)?|(sha512)-([0-9a-f]{128})")


def subject_of_tag(tag: str) -> str:
    """The digest that a tag like `sha256-HEX.sig` is attached to; empty for other tags."""
    match = ATTACHED_TAG.fullmatch(tag) if tag.startswith("sha") else None
    if match is None:
        return ""
    return f"{match[1] or match[3]}:{match[2] or match[4]}"


def attachments(inventory: Inventory) -> Iterator[tuple[str, str]]:
    """(subject, attached) digests: by `subject`, and by the names of tags."""
    yield from inventory.manifests.attached()
    for repository in inventory.repositories.values():
        yield from attached_by_tag(repository)


def attached_by_tag(repository: Repository) -> Iterator[tuple[str, str]]:
    """(subject, attached) digests, by tags like `sha256-HEX.sig`."""
    for tag in repository.tags:
        if subject := subject_of_tag(tag.name):
            for revision in tag.revisions:
                yield subject, revision.digest


_FLUSH_BYTES = graph.RAW_BYTES << 20  # a million digests


class _Column(msgspec.Struct):
    """The digests of one column while it is built, as their two numbers."""

    pending: bytearray = bytearray()
    keys: list[Keys] = []
    checks: list[Keys] = []

    def add(self, digest: str) -> None:
        self.pending += graph.raw(digest)
        if len(self.pending) >= _FLUSH_BYTES:
            self._flush()

    def _flush(self) -> None:
        keys, checks = graph.split(bytes(self.pending))
        self.pending.clear()
        self.keys.append(keys)
        self.checks.append(checks)

    def finished(self) -> tuple[Keys, Keys]:
        self._flush()
        return np.concatenate(self.keys), np.concatenate(self.checks)


class Content(msgspec.Struct, frozen=True):
    """The graph, and the nodes by digest."""

    numbers: DigestNumbers
    graph: Graph
    manifest_nodes: Ids
    """In the order of the inventory's manifests."""

    def node(self, digest: str) -> int:
        return self.numbers.find(digest)

    def marks(self, digests: Iterable[str]) -> Marks:
        """All that is reachable from these digests. Unknown digests are skipped."""
        return self.graph.reachable(self._nodes(digests))

    def holders(self, digests: Iterable[str]) -> Marks:
        """All from which one of these digests is reachable, and the digests."""
        return self.graph.reversed().reachable(self._nodes(digests))

    def marked(self, marks: Marks, inventory: Inventory) -> set[str]:
        """The marked manifests, in one step because that is faster."""
        flags = marks[self.manifest_nodes].tolist()
        return {one for one, flag in zip(inventory.manifests, flags, strict=True) if flag}

    def is_marked(self, marks: Marks, digest: str) -> bool:
        node = self.node(digest)
        return node != NOT_THERE and bool(marks[node])

    def _nodes(self, digests: Iterable[str]) -> list[int]:
        return [node for node in map(self.node, digests) if node != NOT_THERE]


def build(inventory: Inventory) -> Content:
    sources, targets, counts = _Column(), _Column(), array("I")

    def add(source: str, needed: tuple[str, ...]) -> None:
        sources.add(source)
        counts.append(len(needed))
        for target in needed:
            targets.add(target)

    for manifest in inventory.manifests.values():
        add(manifest.digest, needs(manifest))
    for subject, attached in attachments(inventory):
        add(subject, (attached,))
    return _content(sources, targets, counts, manifests=len(inventory.manifests))


def needs(manifest: InventoryManifest) -> tuple[str, ...]:
    return (*manifest.children, *manifest.blobs)


def _content(
    sources: _Column, targets: _Column, counts: "array[int]", *, manifests: int
) -> Content:
    (source_keys, source_checks), (target_keys, target_checks) = (
        sources.finished(),
        targets.finished(),
    )
    table, columns = graph.numbered([source_keys, target_keys], [source_checks, target_checks])
    repeated = np.repeat(columns[0], np.asarray(counts, dtype=np.int64))
    built = graph.from_pairs(repeated, columns[1], node_count=len(table.keys))
    return Content(table, built, columns[0][:manifests])
