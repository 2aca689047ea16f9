"""What commands print for programs can be read back."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import lading.cli
from lading.cli import output
from lading.cli.output import Format
from lading.kernel import texts
from lading.pinned_images.node.types import SetState


@pytest.mark.parametrize(
    ("form", "read"), [(Format.YAML, yaml.safe_load), (Format.JSON, json.loads)]
)
def test_enumerations_and_tuples_are_words_and_lists(
    form: Format, read: Callable[[str], Any]
) -> None:
    value = {"state": SetState.PINNED, "sizes": (1, 2)}
    assert read(output.document(value, form)) == {"state": "Pinned", "sizes": [1, 2]}


def test_a_cell_of_a_table_cannot_write_to_the_terminal() -> None:
    text = output.table(["IMAGE", "NOTE"], [["app", "\x1b[2J\nfake\r"], ["b", "https://a/?sig=x"]])
    assert text.splitlines() == [
        "IMAGE   NOTE",
        r"app     \x1b[2J\nfake\r",
        "b       https://a/?[redacted]",
    ]


@pytest.mark.parametrize(
    ("form", "read"), [(Format.YAML, yaml.safe_load), (Format.JSON, json.loads)]
)
def test_a_document_for_programs_cannot_write_to_the_terminal(
    form: Format, read: Callable[[str], Any]
) -> None:
    value = {"note": "\x1b[2J \x9b31m \x7f \u202egnp.exe größer"}
    text = output.document(value, form)
    assert text.replace("\n", "").isprintable()
    assert read(text) == value


def test_a_sentence_with_words_of_strangers_cannot_write_to_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    output.sentence("Error: \x1b[2J https://me:hunter2@quay.io/?sig=x " + "a" * 10_000, err=True)
    shown = capsys.readouterr().err
    assert shown.startswith(r"Error: \x1b[2J https://[redacted]@quay.io/?[redacted] aaa")
    assert len(shown) <= texts.TEXT_BYTES_MAX + 1


def test_no_command_prints_a_message_of_others_as_it_is() -> None:
    """`output.sentence` does, and so does every table."""
    raw = re.compile(r'click\.echo\(\s*f".*\{[^}]*(error|message|note|text)')
    commands = Path(lading.cli.__file__).parent.rglob("*.py")
    found = [
        f"{path.name}: {line.strip()}"
        for path in commands
        for line in path.read_text().splitlines()
        if raw.search(line)
    ]
    assert found == []


def test_a_table_is_cut_where_it_may_be_until_it_fits() -> None:
    headers = ("NAME", "DIGEST")
    rows = [("a-name-that-is-much-too-long-for-it", "x" * 20), ("short", "y")]
    fitted = output.fitted(headers, rows, 40, (0,))
    assert max(map(len, output.table(headers, fitted).splitlines())) == 40
    assert fitted[0] == ("a-name-tha...r-it", "x" * 20)
    assert output.fitted(headers, rows, 80, (0,)) == rows
