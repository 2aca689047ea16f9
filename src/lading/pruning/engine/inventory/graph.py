"""The needs of all content, as a compressed sparse graph of numbers. Pure.

The number of a digest is its first 64 bits. The other bits are folded into a second number, which
is compared for every edge: if two digests share the first number and differ in the second, the run
ends. Marking follows edges forwards (what an image needs) or backwards (what needs it).
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NoReturn, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
Ids = NDArray[np.int32]
Marks = NDArray[np.bool_]
_CHUNK_EDGES = 1 << 20  # the temporary arrays of a chunk then stay below 10 MB
RAW_BYTES = 32
_PREFIX = len("sha256:")
NOT_THERE = -1


class SameNumber(Exception):
    """Two digests have the same first 64 bits, so no decision is safe."""


class Graph(msgspec.Struct, frozen=True):
    """Nodes are 0..n-1; the targets of node i are `targets[starts[i]:starts[i + 1]]`."""

    starts: NDArray[np.int64]
    targets: Ids

    @property
    def node_count(self) -> int:
        return len(self.starts) - 1

    def targets_of(self, node: int) -> Ids:
        return self.targets[self.starts[node] : self.starts[node + 1]]

    def reachable(self, roots: Iterable[int]) -> Marks:
        """The roots and all that is reachable from them. Cycles are allowed."""
        marks = np.zeros(self.node_count, dtype=np.bool_)
        frontier = _distinct(np.fromiter(roots, dtype=np.int32))
        while frontier.size:
            marks[frontier] = True
            found = self._targets_of_all(frontier)
            frontier = _distinct(found[~marks[found]])
        return marks

    def reversed(self) -> "Graph":
        counts = np.diff(self.starts)
        sources = np.repeat(np.arange(self.node_count, dtype=np.int32), counts)
        return from_pairs(self.targets, sources, node_count=self.node_count)

    def _targets_of_all(self, nodes: Ids) -> Ids:
        begins = self.starts[nodes]
        counts = self.starts[nodes + 1] - begins
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


class DigestNumbers(msgspec.Struct, frozen=True):
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
    keys, checks = split(raw(digest))
    return int(keys[0]), int(checks[0])


def key_of(digest: str) -> int:
    """Only the first 64 bits."""
    return int.from_bytes(raw(digest)[:8], "little")


def raw(digest: str) -> bytes:
    """The 32 bytes of a SHA-256; of any other text, such as a SHA-512, those of its SHA-256."""
    try:
        found = bytes.fromhex(digest[_PREFIX:])
    except ValueError:  # the name of an Image object may be any text
        found = b""
    if len(found) == RAW_BYTES:
        return found
    return hashlib.sha256(digest.encode(errors="surrogatepass")).digest()


def split(content: bytes | bytearray) -> tuple[Keys, Keys]:
    """The two numbers of many digests."""
    parts = np.frombuffer(content, dtype="<u8").reshape(-1, RAW_BYTES // 8)
    return parts[:, 0].copy(), np.bitwise_xor.reduce(parts[:, 1:], axis=1)


def numbered(keys: Sequence[Keys], checks: Sequence[Keys]) -> tuple[DigestNumbers, list[Ids]]:
    """One node for each digest in any of the columns, and the columns as nodes."""
    every, columns = numbered_keys(keys)
    table = DigestNumbers(every, np.zeros(len(every), dtype=np.uint64))
    for nodes, column in zip(columns, checks, strict=True):
        table.checks[nodes] = column
    for nodes, column in zip(columns, checks, strict=True):
        for begin, end in _chunks(len(nodes)):
            differ = table.checks[nodes[begin:end]] != column[begin:end]
            if differ.any():
                stop_at(int(table.keys[nodes[begin + int(np.argmax(differ))]]))
    return table, columns


def numbered_keys(columns: Sequence[Keys]) -> tuple[Keys, list[Ids]]:
    """The same by the first 64 bits only: a collision can only mark too much."""
    every = _distinct(np.concatenate([_distinct(column) for column in columns]))
    return every, [_nodes_of(column, every) for column in columns]


def stop_at(key: int) -> NoReturn:
    raise SameNumber(_message(f"sha256:{key.to_bytes(8, 'little').hex()}"))


def _nodes_of(column: Keys, keys: Keys) -> Ids:
    """Sorts in chunks, because ordered access to the keys is ten times faster."""
    nodes = np.empty(len(column), dtype=np.int32)
    for begin, end in _chunks(len(column)):
        chunk = column[begin:end]
        order = np.argsort(chunk)
        nodes[begin + order] = np.searchsorted(keys, chunk[order])
    return nodes


Number = TypeVar("Number", np.uint64, np.int32)


def _distinct(values: NDArray[Number]) -> NDArray[Number]:
    """Sorted, without repeats. `np.unique` hashes, and takes thirty times as long."""
    found = np.sort(values)
    if len(found) < 2:
        return found
    is_first = np.concatenate(([True], found[1:] != found[:-1]))
    distinct: NDArray[Number] = found[is_first]
    return distinct


def _chunks(length: int) -> Iterator[tuple[int, int]]:
    for begin in range(0, length, _CHUNK_EDGES):
        yield begin, min(begin + _CHUNK_EDGES, length)


def _message(digest: str) -> str:
    return (
        f"two digests begin with {digest[:23]}; the pruner cannot tell them apart, so nothing is"
        " deleted. Delete one of the two images by hand"
    )
