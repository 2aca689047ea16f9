"""Which content needs which, as a compressed sparse graph of numbers. Pure.

A digest becomes the number of its first 64 bits. The other bits are folded into a second number
that is compared for every edge: two digests that share the first and differ in the second stop
the run. Marking follows edges forwards (what an image needs) or backwards (what needs it).
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
Ids = NDArray[np.int32]
Marks = NDArray[np.bool_]
_CHUNK_EDGES = 1 << 20  # the temporary arrays of a chunk then stay below 10 MB
_KEY_HEX = 16
_HEX = re.compile(r"[0-9a-f]{64,}")
NOT_THERE = -1


class SameNumber(Exception):
    """Two digests have the same first 64 bits; nothing can be decided safely."""


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes are 0..n-1; the targets of node i are `targets[starts[i]:starts[i + 1]]`."""

    starts: NDArray[np.int64]
    targets: Ids

    @property
    def node_count(self) -> int:
        return len(self.starts) - 1

    def targets_of(self, node: int) -> Ids:
        return self.targets[self.starts[node] : self.starts[node + 1]]

    def reachable(self, roots: Iterable[int]) -> Marks:
        """The roots, and everything that some path of any length leads to; cycles are fine."""
        marks = np.zeros(self.node_count, dtype=np.bool_)
        frontier = np.unique(np.fromiter(roots, dtype=np.int64))
        while frontier.size:
            marks[frontier] = True
            found = self._targets_of_all(frontier)
            frontier = np.unique(found[~marks[found]]).astype(np.int64)
        return marks

    def reversed(self) -> "Graph":
        counts = np.diff(self.starts)
        sources = np.repeat(np.arange(self.node_count, dtype=np.int32), counts)
        return from_pairs(self.targets, sources, node_count=self.node_count)

    def _targets_of_all(self, nodes: NDArray[np.int64]) -> Ids:
        begins, counts = self.starts[nodes], np.diff(self.starts)[nodes]
        total = int(counts.sum())
        if not total:
            return np.zeros(0, dtype=np.int32)
        # Position k of the answer is in the row that began last before it.
        row_begins = np.repeat(begins - np.concatenate(([0], np.cumsum(counts)[:-1])), counts)
        found: Ids = self.targets[row_begins + np.arange(total)]
        return found


def from_pairs(
    sources: Sequence[int] | Ids, targets: Sequence[int] | Ids, *, node_count: int
) -> Graph:
    source_ids = np.asarray(sources, dtype=np.int32)
    target_ids = np.asarray(targets, dtype=np.int32)
    starts = np.zeros(node_count + 1, dtype=np.int64)
    np.cumsum(np.bincount(source_ids, minlength=node_count), out=starts[1:])
    order = np.argsort(source_ids, kind="stable")
    return Graph(starts, target_ids[order])


@dataclass(frozen=True, slots=True)
class DigestNumbers:
    """Sorted first parts and the folded rest; the position in them is a node of the graph."""

    keys: Keys
    checks: Keys

    def find(self, digest: str) -> int:
        key, check = numbers_of(digest)
        position = int(np.searchsorted(self.keys, np.uint64(key)))
        if position == len(self.keys) or int(self.keys[position]) != key:
            return NOT_THERE
        if int(self.checks[position]) != check:
            raise SameNumber(_message(digest))
        return position


def numbers_of(digest: str) -> tuple[int, int]:
    """The first 64 bits, and all others folded by exclusive or."""
    encoded = digest.partition(":")[2]
    if not _HEX.fullmatch(encoded):  # the name of an Image object may be any text
        encoded = hashlib.sha256(digest.encode()).hexdigest()
    key, check = int(encoded[:_KEY_HEX], 16), 0
    for begin in range(_KEY_HEX, len(encoded), _KEY_HEX):
        check ^= int(encoded[begin : begin + _KEY_HEX], 16)
    return key, check


def numbered(keys: Sequence[Keys], checks: Sequence[Keys]) -> tuple[DigestNumbers, list[Ids]]:
    """One node for each digest in any of the columns, and the columns as nodes."""
    every = np.unique(np.concatenate([np.unique(column) for column in keys]))
    table = DigestNumbers(every, np.zeros(len(every), dtype=np.uint64))
    columns = [_nodes_of(column, table.keys) for column in keys]
    for nodes, column in zip(columns, checks, strict=True):
        table.checks[nodes] = column
    for nodes, column in zip(columns, checks, strict=True):
        for begin, end in _chunks(len(nodes)):
            differ = table.checks[nodes[begin:end]] != column[begin:end]
            if differ.any():
                key = int(table.keys[nodes[begin + int(np.argmax(differ))]])
                raise SameNumber(_message(f"sha256:{key:016x}"))
    return table, columns


def _nodes_of(column: Keys, keys: Keys) -> Ids:
    nodes = np.empty(len(column), dtype=np.int32)
    for begin, end in _chunks(len(column)):
        nodes[begin:end] = np.searchsorted(keys, column[begin:end])
    return nodes


def _chunks(length: int) -> Iterator[tuple[int, int]]:
    for begin in range(0, length, _CHUNK_EDGES):
        yield begin, min(begin + _CHUNK_EDGES, length)


def _message(digest: str) -> str:
    return (
        f"two digests begin with {digest[:23]}; the pruner cannot tell them apart, so nothing is"
        " deleted. Delete one of the two images by hand"
    )
