"""The line on standard error that says how far things are."""

import sys

import pytest

from lading.cli.status_line import StatusLine


def on_terminal(monkeypatch: pytest.MonkeyPatch, *, kind: str = "xterm") -> StatusLine:
    """Ten columns wide."""
    monkeypatch.setenv("TERM", kind)
    monkeypatch.setenv("COLUMNS", "10")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    return StatusLine()


def test_a_terminal_has_one_line_that_is_replaced_and_then_erased(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = on_terminal(monkeypatch)
    for text in ("1 of 2", "1 of 2", "2 of 2"):
        line.show(text)
    line.clear()
    shown = capsys.readouterr()
    assert shown.err == "\r\x1b[K1 of 2\r\x1b[K2 of 2\r\x1b[K"
    assert shown.out == ""


def test_the_line_never_wraps(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on_terminal(monkeypatch).show("0123456789")
    assert capsys.readouterr().err == "\r\x1b[K012345678"


def test_nothing_is_erased_where_nothing_was_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on_terminal(monkeypatch).clear()
    assert capsys.readouterr().err == ""


def test_what_a_peer_wrote_cannot_move_the_cursor(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on_terminal(monkeypatch).show("a\x1b[2J\nb")
    assert "\x1b[2J" not in (shown := capsys.readouterr().err)
    assert "\n" not in shown


def test_without_a_terminal_each_change_is_a_whole_line(capsys: pytest.CaptureFixture[str]) -> None:
    line = StatusLine()
    for text in ("a" * 500, "a" * 500, "b"):
        line.show(text)
    line.clear()
    assert capsys.readouterr().err == "a" * 500 + "\nb\n"


def test_a_dumb_terminal_gets_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = on_terminal(monkeypatch, kind="dumb")
    line.show("a")
    line.clear()
    assert capsys.readouterr().err == "a\n"
