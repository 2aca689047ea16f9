"""Finds one file in the layer of an image while the layer arrives piece by piece. Pure.

Reads tar, plain or with gzip. Memory holds one piece and the file itself; what a layer unpacks to
is bounded, so a small layer cannot cost hours.
"""

import zlib

from lading.kernel.errors import Malformed

FILE_BYTES_MAX = 16 * 1024 * 1024  # image-references of a release has some 100 kB
UNPACKED_BYTES_MAX = 4 * 1024**3  # the layers of a release unpack to less than 1 GiB
_UNPACK_BYTES_MAX = 1024 * 1024  # at a time
_BLOCK_BYTES = 512
_GZIP = b"\x1f\x8b"
_ZSTANDARD = b"\x28\xb5\x2f\xfd"
_REGULAR = (b"0", b"\0")


class LayerSearch:
    """Feed it every piece of the layer; then `content` is the file, or None."""

    def __init__(self, path: str) -> None:
        folder, _, name = path.rpartition("/")
        self._path = path
        self._whiteouts = {f"{folder}/.wh.{name}", f"{folder}/.wh..wh..opq", f".wh.{folder}"}
        self.content: bytes | None = None
        self.is_removed = False
        """The layer hides the file of the layers below it."""
        self._begin = b""
        self._inflate: zlib._Decompress | None = None
        self._is_known = False
        self._unpacked_bytes = 0
        self._buffer = bytearray()
        self._skip_bytes = 0
        self._file_bytes: int | None = None

    def feed(self, piece: bytes) -> None:
        if not self._is_known:
            self._begin += piece
            if len(self._begin) < len(_ZSTANDARD):
                return
            piece = self._recognised()
        self._unpack(piece)

    def _recognised(self) -> bytes:
        if self._begin.startswith(_ZSTANDARD):
            raise _malformed("it is compressed with zstd, which cannot be read here")
        if self._begin.startswith(_GZIP):
            self._inflate = _gzip()
        self._is_known = True
        begin, self._begin = self._begin, b""
        return begin

    def _unpack(self, piece: bytes) -> None:
        """A layer may be several gzip streams, one after the other."""
        if self._inflate is None:
            self._read(piece)
            return
        while piece:
            try:
                unpacked = self._inflate.decompress(piece, _UNPACK_BYTES_MAX)
            except zlib.error as error:
                raise _malformed(f"its compression is damaged: {error}") from error
            self._read(unpacked)
            piece = self._inflate.unconsumed_tail
            if self._inflate.eof:
                piece = self._inflate.unused_data
                self._inflate = _gzip()

    def _read(self, unpacked: bytes) -> None:
        self._unpacked_bytes += len(unpacked)
        if self._unpacked_bytes > UNPACKED_BYTES_MAX:
            raise _malformed(f"it unpacks to more than {UNPACKED_BYTES_MAX} bytes")
        skipped = min(self._skip_bytes, len(unpacked))
        self._skip_bytes -= skipped
        self._buffer += memoryview(unpacked)[skipped:]
        while self._step():
            pass

    def _step(self) -> bool:
        """One header, or the content of the file; False when more bytes are needed."""
        if self._file_bytes is not None:
            if len(self._buffer) < self._file_bytes:
                return False
            self.content = bytes(self._buffer[: self._file_bytes])
            self._drop(_padded(self._file_bytes))
            self._file_bytes = None
            return True
        if self._skip_bytes or len(self._buffer) < _BLOCK_BYTES:
            return False
        header = bytes(self._buffer[:_BLOCK_BYTES])
        self._drop(_BLOCK_BYTES)
        if any(header):
            self._enter(header)
        return True

    def _enter(self, header: bytes) -> None:
        name, size_bytes = _name(header), _size(header)
        self.is_removed |= name in self._whiteouts
        if name == self._path and header[156:157] in _REGULAR:
            if size_bytes > FILE_BYTES_MAX:
                raise _malformed(f"{name} is larger than {FILE_BYTES_MAX} bytes")
            self._file_bytes = size_bytes
        else:
            self._drop(_padded(size_bytes))

    def _drop(self, count: int) -> None:
        there = min(count, len(self._buffer))
        del self._buffer[:there]
        self._skip_bytes = count - there


def _gzip() -> "zlib._Decompress":
    return zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)


def _padded(size_bytes: int) -> int:
    return -(-size_bytes // _BLOCK_BYTES) * _BLOCK_BYTES


def _name(header: bytes) -> str:
    parts = [header[345:500], header[:100]] if header[257:262] == b"ustar" else [header[:100]]
    texts = [part.split(b"\0", 1)[0].decode("utf-8", "replace") for part in parts]
    return "/".join(text for text in texts if text).removeprefix("./").removeprefix("/")


def _size(header: bytes) -> int:
    """Octal digits; very large files have a binary number instead."""
    field = header[124:136]
    if field[0] & 0x80:
        return int.from_bytes(field, "big") & ~(0xFF << 88)
    text = field.strip(b" \0")
    if not all(0x30 <= digit <= 0x37 for digit in text):
        raise _malformed("this is not a tar archive")
    return int(text or b"0", 8)


def _malformed(reason: str) -> Malformed:
    return Malformed(what="layer", text="", reason=reason)
