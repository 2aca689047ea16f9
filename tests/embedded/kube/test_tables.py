"""Columns of custom resources."""

from datetime import UTC, datetime

import pytest

from lading.embedded.kube import tables

NOW = datetime(2026, 1, 1, tzinfo=UTC)


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
