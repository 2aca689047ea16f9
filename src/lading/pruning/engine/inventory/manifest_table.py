"""The manifests of an inventory, packed, because all are in memory at once. Pure.

Each digest has a number, and a packed manifest names its needs by number. A lookup creates the
value. Unpacked, a million manifests of ten layers need more than two gigabytes.
"""

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Self

import msgspec

_NO_SIZE = -1
_SIZE_BYTES_MAX = 1 << 44  # 16 TiB is more than any blob has, and a million of them add up
_NO_NUMBER = -1
_NOT_HERE = b""
_SHA256 = "sha256:"
_RAW_BYTES = 32
VERSION = "lading.prune.manifests/v1"


class InventoryManifest(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The facts about one manifest, or one Image object, for the graph and the rules."""

    digest: str
    children: tuple[str, ...] = ()
    """Manifests of an index."""
    blobs: tuple[str, ...] = ()
    """Configuration and layers, and every other digest that the document contains."""
    subject: str = ""
    artifact_type: str = ""
    """Empty for an image."""
    size_bytes: int = 0
    is_opaque: bool = False
    """The document cannot be read, so its needs are unknown."""
    is_unknown: bool = False
    """The document has an unknown form; it needs every digest in it."""
    pushed_at: datetime | None = None
    created_at: datetime | None = None
    is_managed: bool = True
    """False for an Image that was imported from another registry."""


class _Links(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The first fields of a packed manifest, for readers that need no more."""

    subject: int
    children: tuple[int, ...]
    blobs: tuple[int, ...]


class _Packed(_Links, frozen=True, gc=False, array_like=True):
    artifact_type: str
    size_bytes: int
    is_opaque: bool
    is_unknown: bool
    pushed_at: datetime | None
    created_at: datetime | None
    is_managed: bool


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Packed).decode
_decode_links = msgspec.msgpack.Decoder(_Links).decode


class _Columns(msgspec.Struct):
    """The facts about each digest, by its number."""

    numbers: dict[str, int] = {}
    texts: list[str] = []
    sizes: "array[int]" = msgspec.field(default_factory=lambda: array("q"))
    packed: list[bytes] = []

    def number(self, digest: str) -> int:
        """Assigns a number to a new digest."""
        found = self.numbers.get(digest)
        if found is None:
            found = self.numbers[digest] = len(self.texts)
            self.texts.append(digest)
            self.sizes.append(_NO_SIZE)
            self.packed.append(_NOT_HERE)
        return found


class ManifestTable(Mapping[str, InventoryManifest]):
    """Manifests by digest, with the sizes of their blobs."""

    def __init__(self, columns: _Columns | None = None) -> None:
        self._columns = columns or _Columns()
        self._held = bytearray()
        """By number: whether the manifest is in this table, which may share its columns."""

    @classmethod
    def of(
        cls,
        manifests: Iterable[InventoryManifest],
        sizes: Mapping[str, int] = MappingProxyType({}),
    ) -> Self:
        table = cls()
        for one in manifests:
            table.add(one)
        table.add_sizes(sizes)
        return table

    def add(self, manifest: InventoryManifest) -> None:
        number = self._columns.number
        own = number(manifest.digest)
        self._columns.packed[own] = _encode(
            _Packed(
                number(manifest.subject) if manifest.subject else _NO_NUMBER,
                tuple(map(number, manifest.children)),
                tuple(map(number, manifest.blobs)),
                manifest.artifact_type,
                _bounded(manifest.size_bytes),
                manifest.is_opaque,
                manifest.is_unknown,
                manifest.pushed_at,
                manifest.created_at,
                manifest.is_managed,
            )
        )
        self._hold(own)

    def add_sizes(self, sizes: Mapping[str, int]) -> None:
        for digest, size_bytes in sizes.items():
            self._columns.sizes[self._columns.number(digest)] = _bounded(size_bytes)

    def shared(self, digest: str) -> str:
        """The shared text of this digest, to save memory."""
        return self._columns.texts[self._columns.number(digest)]

    def only(self, digests: Iterable[str]) -> "ManifestTable":
        """A table of the known manifests among these. It shares the columns."""
        found = ManifestTable(self._columns)
        for digest in digests:
            if digest in self:
                found._hold(self._columns.numbers[digest])
        return found

    def _hold(self, number: int) -> None:
        missing = len(self._columns.texts) - len(self._held)
        self._held.extend(bytes(missing))
        self._held[number] = True

    def _find(self, digest: object) -> int:
        number = self._columns.numbers.get(digest, _NO_NUMBER)  # type: ignore[call-overload]
        return number if self._holds(number) else _NO_NUMBER

    def _holds(self, number: int) -> bool:
        """The shared columns may have grown: entries beyond the end are not in this table."""
        return 0 <= number < len(self._held) and bool(self._held[number])

    def __getitem__(self, digest: str) -> InventoryManifest:
        number = self._find(digest)
        if number == _NO_NUMBER:
            raise KeyError(digest)
        return self._value(number)

    def __contains__(self, digest: object) -> bool:
        return self._find(digest) != _NO_NUMBER

    def __iter__(self) -> Iterator[str]:
        texts = self._columns.texts
        return (texts[number] for number, is_held in enumerate(self._held) if is_held)

    def __len__(self) -> int:
        return self._held.count(True)

    def _value(self, number: int) -> InventoryManifest:
        texts = self._columns.texts
        packed = _decode(self._columns.packed[number])
        return InventoryManifest(
            digest=texts[number],
            children=tuple(map(texts.__getitem__, packed.children)),
            blobs=tuple(map(texts.__getitem__, packed.blobs)),
            subject="" if packed.subject == _NO_NUMBER else texts[packed.subject],
            artifact_type=packed.artifact_type,
            size_bytes=packed.size_bytes,
            is_opaque=packed.is_opaque,
            is_unknown=packed.is_unknown,
            pushed_at=packed.pushed_at,
            created_at=packed.created_at,
            is_managed=packed.is_managed,
        )

    def blob_size_bytes(self, digest: str) -> int:
        """0 if unknown."""
        number = self._columns.numbers.get(digest)
        return 0 if number is None else self.size_bytes(number)

    def size_bytes(self, number: int) -> int:
        """The size of a blob by its number."""
        return max(self._columns.sizes[number], 0)

    def has_blob(self, digest: str) -> bool:
        """Whether its size is known."""
        number = self._columns.numbers.get(digest)
        return number is not None and self._columns.sizes[number] != _NO_SIZE

    def blobs(self) -> Iterator[str]:
        """Every digest with a known size."""
        for digest, size_bytes in zip(self._columns.texts, self._columns.sizes, strict=True):
            if size_bytes != _NO_SIZE:
                yield digest

    @property
    def digest_count(self) -> int:
        """Of manifests and blobs; each has a number below it."""
        return len(self._columns.texts)

    def number(self, digest: str) -> int:
        """Of a manifest of this table."""
        return self._columns.numbers[digest]

    def numbers_needed(self, digest: str) -> tuple[int, ...]:
        """By a manifest: its children and blobs."""
        number = self._find(digest)
        if number == _NO_NUMBER:
            return ()
        links = _decode_links(self._columns.packed[number])
        return (*links.children, *links.blobs)

    def manifests_needed(self, digest: str) -> list[str]:
        """Of what a manifest needs, the manifests of this table."""
        texts, held, end = self._columns.texts, self._held, len(self._held)
        numbers = self.numbers_needed(digest)
        return [texts[number] for number in numbers if number < end and held[number]]

    def subject(self, digest: str) -> str:
        """The subject of a manifest; empty for most."""
        number = self._find(digest)
        if number == _NO_NUMBER:
            return ""
        subject = _decode_links(self._columns.packed[number]).subject
        return "" if subject == _NO_NUMBER else self._columns.texts[subject]

    def attached(self) -> Iterator[tuple[str, str]]:
        """(subject, digest) of every manifest that is attached to another by its `subject`."""
        for digest, links in self._every():
            if links.subject != _NO_NUMBER:
                yield self._columns.texts[links.subject], digest

    def needing(self, digests: Iterable[str]) -> set[str]:
        """The manifests that need one of these, as a child or a blob."""
        numbers = {self._columns.numbers.get(one, _NO_NUMBER) for one in digests}
        return {
            digest
            for digest, links in self._every()
            if not numbers.isdisjoint(links.blobs) or not numbers.isdisjoint(links.children)
        }

    def _every(self) -> Iterator[tuple[str, _Links]]:
        columns = self._columns
        for number, is_held in enumerate(self._held):
            if is_held:
                yield columns.texts[number], _decode_links(columns.packed[number])

    def encoded(self) -> bytes:
        """Encodes the table for a file, so that the next run reads only new manifests.

        A checksum comes first: a changed bit could name another child, and so lose its protection.
        """
        content = msgspec.msgpack.encode(self._stored())
        return hashlib.sha256(content).digest() + content

    def _stored(self) -> "_Stored":
        columns = self._columns
        digests, others = bytearray(), {}
        for number, text in enumerate(columns.texts):
            raw = _raw(text)
            digests += raw or bytes(_RAW_BYTES)
            if not raw:
                others[number] = text
        return _Stored(
            version=VERSION,
            digests=bytes(digests),
            others=others,
            sizes=columns.sizes.tobytes(),
            packed=[
                one if self._holds(number) else _NOT_HERE
                for number, one in enumerate(columns.packed)
            ],
        )

    @classmethod
    def decoded(cls, content: bytes) -> Self:
        """Decodes such a file. Any other content raises an error of msgspec."""
        body = memoryview(content)[_RAW_BYTES:]
        if content[:_RAW_BYTES] != hashlib.sha256(body).digest():
            raise msgspec.ValidationError("the checksum is not that of the content")
        stored = msgspec.msgpack.decode(body, type=_Stored)
        if stored.version != VERSION:
            raise msgspec.ValidationError(f"expected {VERSION}, not {stored.version}")
        table, count = cls(), len(stored.packed)
        sizes = array("q", stored.sizes)
        if len(stored.digests) != count * _RAW_BYTES or len(sizes) != count:
            raise msgspec.ValidationError("its columns are not of the same length")
        for number, packed in enumerate(stored.packed):
            raw = stored.digests[number * _RAW_BYTES : (number + 1) * _RAW_BYTES]
            text = stored.others.get(number, f"{_SHA256}{raw.hex()}")
            if table._columns.number(text) != number:
                raise msgspec.ValidationError(f"it has {text} twice")
            if packed:
                _check_numbers(_decode(packed), count)
                table._columns.packed[number] = packed
                table._hold(number)
        table._columns.sizes = sizes
        return table


def _bounded(size_bytes: int) -> int:
    """A document may state any size; this limits it to what the table can hold."""
    return min(max(size_bytes, 0), _SIZE_BYTES_MAX)


def _check_numbers(packed: _Packed, count: int) -> None:
    numbers = (packed.subject, *packed.children, *packed.blobs)
    if max(numbers) >= count or min(numbers) < _NO_NUMBER or _NO_NUMBER in numbers[1:]:
        raise msgspec.ValidationError("a manifest names a number that no digest has")


class _Stored(msgspec.Struct, frozen=True):
    version: str
    digests: bytes
    """The 32 bytes of each SHA-256, in the order of the numbers."""
    others: dict[int, str]
    """By number, texts that are no SHA-256."""
    sizes: bytes
    packed: list[bytes]


def _raw(digest: str) -> bytes:
    """The bytes of a SHA-256; empty for any other text, which the name of an Image may be."""
    if not digest.startswith(_SHA256):
        return b""
    try:
        found = bytes.fromhex(digest.removeprefix(_SHA256))
    except ValueError:
        return b""
    return found if len(found) == _RAW_BYTES and f"{_SHA256}{found.hex()}" == digest else b""
