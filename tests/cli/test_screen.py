"""Text that is drawn in place fits the terminal."""

import sys

import pytest

from lading.cli.screen import Screen, fitted_lines


def show_on_terminal(monkeypatch: pytest.MonkeyPatch, *texts: str, kind: str = "xterm") -> None:
    monkeypatch.setenv("TERM", kind)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    screen = Screen()
    for text in texts:
        screen.show(text)


def test_a_terminal_is_redrawn_in_place(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    show_on_terminal(monkeypatch, "a\nb\n", "a\nb\n", "c\n")
    assert capsys.readouterr().out == "\x1b[Ja\nb\n\x1b[2F\x1b[Jc\n"


def test_without_a_terminal_each_change_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen()
    for text in ("a\nb\n", "a\nb\n", "c\n"):
        screen.show(text)
    assert capsys.readouterr().out == "a\nb\nc\n"


def test_what_fits_is_shown_whole() -> None:
    assert fitted_lines("a\nb\n", columns=80, lines=3) == ["a", "b"]


def test_what_would_scroll_is_left_out_and_counted() -> None:
    lines = fitted_lines("a\nb\nc\nd\n", columns=80, lines=4)
    assert lines == ["a", "b", "... and 2 more lines"]


@pytest.mark.parametrize("lines", [0, 1, 2])
def test_a_terminal_of_hardly_a_line_shows_how_many_there_are(lines: int) -> None:
    assert fitted_lines("a\nb\n", columns=80, lines=lines) == ["... and 2 more lines"]


def test_a_line_never_wraps() -> None:
    assert fitted_lines("x" * 100, columns=80, lines=10) == ["x" * 79]
    assert fitted_lines("a\nb\nc\n", columns=10, lines=3) == ["a", "... and 2"]


def test_only_the_lines_that_were_shown_are_redrawn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LINES", "3")
    show_on_terminal(monkeypatch, "a\nb\nc\nd\n", "e\n")
    assert capsys.readouterr().out == "\x1b[Ja\n... and 3 more lines\n\x1b[2F\x1b[Je\n"


def test_a_reader_of_the_log_gets_whole_lines(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().show("a" * 500 + "\n")
    assert capsys.readouterr().out == "a" * 500 + "\n"


def test_a_dumb_terminal_is_never_redrawn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    show_on_terminal(monkeypatch, "a\n", "b\n", kind="dumb")
    assert capsys.readouterr().out == "a\nb\n"
