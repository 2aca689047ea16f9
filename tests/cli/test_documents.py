"""Files are read as kubectl reads them, and every value knows its line."""

from pathlib import Path

import click
import pytest

from lading.cli import documents
from lading.cli.documents import UnreadableDocument

TWO = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: first
data:
  date: 2026-01-01
  on: "yes"
---
# nothing here
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: second}
"""
HEAD = "apiVersion: v1\nkind: ConfigMap\n"


def written(folder: Path, text: str) -> str:
    path = folder / "objects.yaml"
    path.write_text(text)
    return str(path)


def test_documents_and_lists_become_objects_with_lines(tmp_path: Path) -> None:
    first, second = documents.read([written(tmp_path, TWO)])
    assert first.content["metadata"] == {"name": "first"}
    assert first.content["data"] == {"date": "2026-01-01", "on": "yes"}
    assert first.line(("data", "date")) == 6
    assert first.line(("data", "absent", "deeper")) == 5
    assert second.content["metadata"]["name"] == "second"
    assert second.line(("metadata", "name")) == 16


def test_anchors_and_merge_keys_work(tmp_path: Path) -> None:
    text = f"{HEAD}a: &x {{b: 1}}\nc: *x\nd:\n  <<: *x\n  e: 2\n"
    (source,) = documents.read([written(tmp_path, text)])
    assert source.content["c"] == {"b": 1}
    assert source.content["d"] == {"b": 1, "e": 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2\n", ":2: duplicate key 'a'"),
        ("a: [1\n", "this is not YAML"),
        ("- 1\n", ":1: expected an object"),
        ("\0", "yaml: this is not YAML: [^\n]*$"),
        ("# nothing\n", "objects.yaml: there is no object in it"),
        ("kind: ConfigMap\n", ":1: the object has no apiVersion"),
        ("apiVersion: v1\n", ":1: the object has no kind"),
        ("apiVersion: v1\nkind: [List]\n", ":2: kind: expected text"),
        ("apiVersion: v1\nkind: List\nitems: [1]\n", ":3: expected an object"),
        (f"{HEAD}metadata: a\n", ":3: metadata: expected fields"),
        (f"{HEAD}metadata:\n  name: 3\n", ':4: metadata.name: expected text; .*"3"'),
        ("{" * 5000, "this is not YAML|too deeply nested"),
        ("- " * 1_000_000, "exceeded max depth"),
        ("? [a, b]\n: c\n", "single word"),
    ],
)
def test_what_cannot_be_read_says_where(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UnreadableDocument, match=message):
        documents.read([written(tmp_path, text)])


def test_a_bomb_of_aliases_ends_at_a_limit(tmp_path: Path) -> None:
    levels = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 9)]
    text = "\n".join(["l0: &l0 [x, x, x, x, x, x, x, x, x, x]", *levels])
    with pytest.raises(UnreadableDocument, match="too large"):
        documents.read([written(tmp_path, text)])


def test_a_file_that_does_not_exist_is_a_plain_error(tmp_path: Path) -> None:
    with pytest.raises(UnreadableDocument, match="No such file"):
        documents.read([str(tmp_path / "absent.yaml")])


def test_an_empty_name_is_not_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`lading delete -f "$UNSET"` would delete whatever is described there."""
    written(tmp_path, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(click.BadParameter, match="the name of the file is empty"):
        documents.read([""])


def test_a_file_without_an_end_is_too_large() -> None:
    with pytest.raises(UnreadableDocument, match="/dev/zero: the file is larger than 32 MiB"):
        documents.read(["/dev/zero"])
