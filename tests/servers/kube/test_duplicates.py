"""Fields that stand twice in JSON and YAML."""

import pytest

from lading.servers.kube import duplicates


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
