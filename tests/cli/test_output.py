"""What commands print for programs can be read back."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import lading.cli
from lading.cli import output
from lading.cli.output import Format
from lading.kernel import texts
from lading.pinned_images.types import SetState


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


def test_a_table_that_is_too_wide_is_wrapped_in_its_columns() -> None:
    headers = ("NAME", "RUNTIME CLASS", "SIZE")
    rows = [("a-name-that-is-much-too-long-for-it", "handler:kata-qemu", "1 MiB"), ("b", "y", "0")]
    lines = output.table(headers, rows, columns=45).splitlines()
    assert lines[0].split("   ")[0] == "NAME"
    assert "".join(one.split()[0] for one in lines[1:-1]) == rows[0][0], "nothing is left out"
    assert max(map(len, lines)) <= 45


def test_digests_and_times_are_shortened_first() -> None:
    image = f"registry.example.com/team/app@sha256:{'0123456789abcdef' * 4}"
    rows = [(image, "2026-11-18T00:05:00Z")]
    found = [output.table(("IMAGE", "SINCE"), rows, columns=columns) for columns in (140, 80)]
    assert [one.splitlines()[1] for one in found] == [
        f"{image}   2026-11-18T00:05:00Z",
        "registry.example.com/team/app@0123456789ab   11-18 00:05",
    ]


def test_names_in_wide_letters_stay_in_their_columns() -> None:
    lines = output.table(("NAME", "STATE"), [("画像", "ok"), ("[bold]x", "ok")]).splitlines()
    assert lines == ["NAME      STATE", "画像      ok", "[bold]x   ok"]


@given(
    st.lists(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=12),
             min_size=1, max_size=7),
    st.integers(min_value=0, max_value=260),
)  # fmt: skip
def test_every_table_fits_80_columns(headers: list[str], characters: int) -> None:
    """Of up to seven columns, the most that a command has; seven gaps leave eight characters."""
    rows = [["x" * characters for _ in headers], ["y"] * len(headers)]
    assert max(map(len, output.table(headers, rows, columns=80).splitlines())) <= 80


@pytest.mark.parametrize("variable", ["COLUMNS", "FORCE_COLOR"])
def test_a_program_that_reads_a_table_gets_it_whole(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    name = "n" * 253
    monkeypatch.setenv(variable, "80")
    assert output.table(("NAME",), [(name,)]) == f"NAME\n{name}\n"


def test_a_terminal_gets_a_table_that_fits_unless_it_is_asked_for_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = "n" * 253
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert name not in output.table(("NAME",), [(name,)])
    assert name in output.table(("NAME",), [(name,)], is_whole=True)


def test_every_table_of_a_command_is_made_by_one_function() -> None:
    """So all of them fit; `up` lists short names."""
    padding = re.compile(r"\.[lr]just\(|:[<>][0-9{]")
    folder = Path(lading.cli.__file__).parent
    found = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*.py")
        if padding.search(path.read_text())
    }
    assert found <= {"up.py"}
