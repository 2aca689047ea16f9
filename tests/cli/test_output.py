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
from lading.pinned_images.progress import SetState


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


def test_a_table_is_cut_where_it_is_widest_until_it_fits() -> None:
    headers = ("NAME", "RUNTIME CLASS", "SIZE")
    rows = [("a-name-that-is-much-too-long-for-it", "handler:kata-qemu", "1 MiB"), ("b", "y", "0")]
    assert output.table(headers, rows, columns=45).splitlines() == [
        "NAME                RUNTIME CLASS       SIZE",
        "a-name-tha...r-it   handler:kata-qemu   1 MiB",
        "b                   y                   0",
    ]
    assert output.fitted(headers, rows, 80) == [headers, *rows]


def test_digests_and_times_are_shortened_first_and_then_the_end_of_an_image_is_kept() -> None:
    image = f"registry.example.com/team/app@sha256:{'0123456789abcdef' * 4}"
    rows = [(image, "2026-11-18T00:05:00Z")]
    cells = [output.fitted(("IMAGE", "SINCE"), rows, columns)[1] for columns in (140, 80, 40)]
    assert cells == [
        (image, "2026-11-18T00:05:00Z"),
        ("registry.example.com/team/app@0123456789ab", "11-18 00:05"),
        ("registr...app@0123456789ab", "11-18 00:05"),
    ]


@given(
    st.lists(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=12),
             min_size=1, max_size=7),
    st.integers(min_value=0, max_value=260),
)  # fmt: skip
def test_every_table_fits_80_columns(headers: list[str], characters: int) -> None:
    """Of up to seven columns, the most that a command has; seven gaps leave eight characters."""
    rows = [["x" * characters for _ in headers], ["y"] * len(headers)]
    assert max(map(len, output.table(headers, rows, columns=80).splitlines())) <= 80


def test_a_program_that_reads_a_table_gets_it_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "n" * 253
    monkeypatch.delenv("COLUMNS", raising=False)
    assert name in output.table(("NAME",), [(name,)])
    monkeypatch.setenv("COLUMNS", "80")
    assert name not in output.table(("NAME",), [(name,)])
    assert name in output.table(("NAME",), [(name,)], is_whole=True)


def test_every_table_of_a_command_is_made_by_one_function() -> None:
    """So all of them fit; `doctor` wraps its own, and `up` lists short names."""
    padding = re.compile(r"\.[lr]just\(|:[<>][0-9{]")
    folder = Path(lading.cli.__file__).parent
    found = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*.py")
        if padding.search(path.read_text())
    }
    assert found == {"output.py", "doctor/findings.py", "up_cluster.py"}


def test_of_a_sentence_the_beginning_is_kept() -> None:
    rows = [("node-1", "Successfully pulled the image and a word that says no more")]
    assert output.fitted(("NAME", "MESSAGE"), rows, 30)[1] == ("node-1", "Successfully pulle...")


def test_of_a_kind_and_a_name_the_name_is_kept() -> None:
    rows = [("imagepruner/cluster", "0 0 * * *")]
    assert output.fitted(("NAME", "SCHEDULE"), rows, 23)[1] == ("i...cluster", "0 0 * * *")


@pytest.mark.parametrize(("is_terminal", "is_fitted"), [(True, True), (False, False)])
def test_tables_are_fitted_to_terminals(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool, is_fitted: bool
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: is_terminal, raising=False)
    assert (output.screen_columns() is not None) is is_fitted
