"""The wire format of protocol buffers: the fields of a message, in order, undecoded."""

from collections.abc import Iterator

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
VARINT_BYTES_MAX = 10


class Malformed(ValueError):
    """The bytes are not a message."""


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Each field's number and its value: a number, or the bytes of a text or a message."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, wire_type = tag >> 3, tag & 7
        match wire_type:
            case 0:
                value, position = _varint(data, position)
                yield number, value
            case 1 | 5:
                size = 8 if wire_type == _FIXED64 else 4
                yield number, _slice(data, position, size)
                position += size
            case 2:
                size, position = _varint(data, position)
                yield number, _slice(data, position, size)
                position += size
            case _:
                raise Malformed(f"wire type {wire_type} at byte {position} is not supported")


def signed(value: int) -> int:
    """Negative numbers are sent as large ones."""
    return value - (1 << 64) if value >= 1 << 63 else value


def _slice(data: bytes, position: int, size: int) -> bytes:
    if position + size > len(data):
        raise Malformed(f"the message ends inside a field at byte {position}")
    return data[position : position + size]


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = 0
    for count, byte in enumerate(data[position : position + VARINT_BYTES_MAX]):
        value |= (byte & 0x7F) << (7 * count)
        if not byte & 0x80:
            return value, position + count + 1
    raise Malformed(f"the number at byte {position} does not end")
