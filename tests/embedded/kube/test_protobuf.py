"""The binary form of built-in kinds, which kubectl sends."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lading.embedded.kube import protobuf

CONFIG_MAP = "io.k8s.api.core.v1.ConfigMap"
POD = "io.k8s.api.core.v1.Pod"


def text_field(number: int, value: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)


def test_a_binary_object_reads_as_its_json() -> None:
    identity = text_field(1, b"v1") + text_field(2, b"ConfigMap")
    metadata = text_field(1, b"a") + text_field(3, b"") + bytes([7 << 3, 0])
    entry = text_field(1, b"k") + text_field(2, b"v")
    raw = text_field(1, metadata) + text_field(2, entry) + bytes([4 << 3, 0])
    body = protobuf.MAGIC + text_field(1, identity) + text_field(2, raw)
    assert protobuf.document(body, CONFIG_MAP) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a"},
        "data": {"k": "v"},
        "immutable": False,
    }


@pytest.mark.parametrize("levels", [300, 5_000])
def test_json_inside_of_it_may_not_nest_deeper_than_any_other(levels: int) -> None:
    raw = b'{"a":' * levels + b"1" + b"}" * levels
    entry = text_field(7, text_field(1, raw))
    metadata = text_field(1, b"a") + text_field(17, entry)
    body = protobuf.MAGIC + text_field(2, text_field(1, metadata))
    with pytest.raises(protobuf.Malformed, match=r"nested deeper|recursion"):
        protobuf.document(body, CONFIG_MAP)


@given(st.binary(max_size=200), st.sampled_from([CONFIG_MAP, POD]))
def test_hostile_bytes_are_malformed_and_nothing_worse(noise: bytes, definition: str) -> None:
    for body in (noise, text_field(2, noise), text_field(2, text_field(1, noise))):
        with contextlib.suppress(protobuf.Malformed):
            protobuf.document(protobuf.MAGIC + body, definition)
