"""YAML is read as JSON would be, and a hostile text is refused before it is unfolded."""

from typing import Any

import pytest
import yaml

from lading.kernel import yaml_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", None),
        (b"a: [1, 2.5, yes, ~, x]", {"a": [1, 2.5, True, None, "x"]}),
        (b"when: 2026-01-02T03:04:05Z", {"when": "2026-01-02T03:04:05Z"}),
        (b"day: 2026-13-45", {"day": "2026-13-45"}),
        (b"{1: a, true: b, 1.5: c}", {"1": "a", "true": "b", "1.5": "c"}),
        (b"a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}", {
            "a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1, "y": 2},
        }),
    ],
)  # fmt: skip
def test_only_the_types_of_json_come_out(text: bytes, expected: Any) -> None:
    assert yaml_text.value(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        b"a: [",
        b"\xff",
        b"a: 1\n---\nb: 2",
        b"!!bool x",
        b"!!int x",
        b"!!float x",
        b"a: .inf",
        b"a: " + b"1" * 5_000,
        b"!!timestamp 2026-01-02",
        b"!!binary eA==",
        b"!!set {a, b}",
        b"!!python/object:os.system x",
        b"? [a]\n: b",
        b"~: a",
        b"a: &a [*a]",
        b"a: &a [x, x]\n" + b"".join(b"%c: &%c [*%c, *%c]\n" % (n, n, n - 1, n - 1)
                                     for n in range(98, 123)),
    ],
    ids=repr,
)  # fmt: skip
def test_everything_else_is_refused(text: bytes) -> None:
    with pytest.raises(yaml.YAMLError):
        yaml_text.value(text)


@pytest.mark.parametrize("text", [b"[" * 1_000_000, b"- " * 1_000_000, b"? " * 1_000_000])
def test_a_text_that_nests_too_deeply_does_not_end_the_process(text: bytes) -> None:
    with pytest.raises(yaml.YAMLError, match="exceeded max depth"):
        yaml_text.value(text)
