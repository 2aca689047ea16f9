"""Small pure parts: negotiation, duplicate fields, table cells, order of versions, binary form."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lading.servers.kube import definitions, duplicates, negotiation, status, tables
from lading.servers.kube.negotiation import Form
from lading.servers.kube.protobuf import decode, wire

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", Form.OBJECT),
        ("*/*", Form.OBJECT),
        ("application/json", Form.OBJECT),
        (f"{TABLE},application/json", Form.TABLE),
        ("application/json;as=Table;v=v9;g=meta.k8s.io,application/json", Form.OBJECT),
        ("application/vnd.kubernetes.protobuf,application/json", Form.OBJECT),
        ("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", Form.METADATA),
    ],
)
def test_the_first_form_that_can_be_served_is(accept: str, form: Form) -> None:
    assert negotiation.form(accept) is form


@pytest.mark.parametrize("accept", ["text/html", "application/vnd.kubernetes.protobuf"])
def test_a_form_that_cannot_be_served_is_refused(accept: str) -> None:
    with pytest.raises(status.ApiError) as caught:
        negotiation.form(accept)
    assert caught.value.code == 406


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        (b'{"a": 1, "b": {"a": 1}}', []),
        (b'{"a": 1, "a": 2}', ["a"]),
        (b'{"a": {"b": 1, "b": 2}}', ["a.b"]),
        (b'{"a": [{"b": 1, "b": 2}]}', ["a[0].b"]),
        (b'{"a": 1, "a": {"b": 1, "b": 2}}', ["a", "a.b"]),
    ],
)
def test_fields_that_stand_twice_are_found(text: bytes, paths: list[str]) -> None:
    assert duplicates.in_json(text) == [f'duplicate field "{path}"' for path in paths]


def test_keys_that_stand_twice_in_yaml_are_found_once_each_by_line() -> None:
    text = b"a: &x {b: 1, b: 2}\nc: *x\nd:\n- e: 1\n  e: 2\n"
    assert duplicates.in_yaml(text) == [
        'line 1: key "b" already set in map',
        'line 5: key "e" already set in map',
    ]
    assert duplicates.in_yaml(b"") == []


@pytest.mark.parametrize(
    ("kind", "path", "cell"),
    [
        ("integer", ".spec.size", 3),
        ("string", ".spec.size", "3"),
        ("boolean", ".spec.size", None),
        ("string", '.status.conditions[?(@.type=="Ready")].status', "True"),
        ("string", ".metadata.labels.example\\.com/name", "x"),
        ("string", ".spec.list[*]", "a"),
        ("string", ".spec.list", '["a","b"]'),
        ("string", ".spec.absent", None),
        ("date", ".metadata.creationTimestamp", "60m"),
        ("date", ".spec.size", None),
    ],
)
def test_a_column_of_a_definition_shows(kind: str, path: str, cell: object) -> None:
    document = {
        "metadata": {
            "name": "a",
            "creationTimestamp": "2025-12-31T23:00:00Z",
            "labels": {"example.com/name": "x"},
        },
        "spec": {"size": 3, "list": ["a", "b"]},
        "status": {
            "conditions": [
                {"type": "Other", "status": "False"},
                {"type": "Ready", "status": "True"},
            ]
        },
    }
    declared = [{"name": "Shown", "type": kind, "jsonPath": path}]
    _, column = tables.of_definition(declared)
    assert column.cell(document, NOW) == cell


def test_versions_are_ordered_as_kubernetes_prefers_them() -> None:
    names = ["v1alpha1", "v2", "other", "v1", "v1beta2", "v10", "v1beta10"]
    ordered = sorted(names, key=definitions.version_rank)
    assert ordered == ["v10", "v2", "v1", "v1beta10", "v1beta2", "v1alpha1", "other"]


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
