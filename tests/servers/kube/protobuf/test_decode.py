"""The binary form of built-in kinds."""

from hypothesis import given
from hypothesis import strategies as st

from lading.servers.kube.protobuf import decode, wire

CONFIG_MAP = "io.k8s.api.core.v1.ConfigMap"


def text_field(number: int, value: bytes) -> bytes:
    return bytes([number << 3 | 2, len(value)]) + value


def test_a_binary_object_reads_as_its_json() -> None:
    identity = text_field(1, b"v1") + text_field(2, b"ConfigMap")
    metadata = text_field(1, b"a") + text_field(3, b"") + bytes([7 << 3, 0])
    entry = text_field(1, b"k") + text_field(2, b"v")
    raw = text_field(1, metadata) + text_field(2, entry) + bytes([4 << 3, 0])
    body = decode.MAGIC + text_field(1, identity) + text_field(2, raw)
    assert decode.document(body, CONFIG_MAP) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a"},
        "data": {"k": "v"},
        "immutable": False,
    }


@given(st.binary(max_size=200))
def test_hostile_bytes_are_malformed_and_nothing_worse(noise: bytes) -> None:
    try:
        decode.document(decode.MAGIC + noise, CONFIG_MAP)
    except wire.Malformed:
        return
