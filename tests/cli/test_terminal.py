"""What a person watches: redrawn on a terminal, plain lines elsewhere."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator

import pytest

from lading.cli import terminal
from lading.cli.terminal import ProgressLine, Screen, Step

HOSTILE = "a\x1b[2J\nb [bold]x[/bold] :smile:"


def make_terminal(monkeypatch: pytest.MonkeyPatch, stream: str, *, kind: str = "xterm") -> None:
    monkeypatch.setenv("TERM", kind)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("LINES", "5")
    monkeypatch.setattr(getattr(sys, stream), "isatty", lambda: True)


def test_a_terminal_is_redrawn_in_place(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_terminal(monkeypatch, "stdout")
    with Screen() as screen:
        for text in ("a\nb\n", "a\nb\n", "c\n"):
            screen.show(text)
    shown = capsys.readouterr().out
    assert shown.count("a\nb") == 1
    assert "\x1b[1A" in shown, "the cursor goes back up"
    assert "c" in shown.rpartition("\x1b[1A")[2]


def test_more_lines_than_the_terminal_has_are_not_scrolled_away(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_terminal(monkeypatch, "stdout")
    with Screen() as screen:
        screen.show("".join(f"line-{number}\n" for number in range(20)))
        assert "line-19" not in capsys.readouterr().out
    assert "line-19" in capsys.readouterr().out, "the last state is printed whole"


@pytest.mark.parametrize("kind", ["xterm", "dumb"])
@pytest.mark.parametrize("variable", ["COLUMNS", "FORCE_COLOR"])
def test_without_a_screen_each_change_is_printed_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kind: str, variable: str
) -> None:
    monkeypatch.setenv(variable, "40")
    if kind == "dumb":
        make_terminal(monkeypatch, "stdout", kind=kind)
    with Screen() as screen:
        for text in ("a" * 500 + "\n", "a" * 500 + "\n", "b\n"):
            screen.show(text)
    assert capsys.readouterr().out == "a" * 500 + "\nb\n"


def test_a_line_of_progress_has_a_bar_and_is_gone_at_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_terminal(monkeypatch, "stderr")
    with ProgressLine() as line:
        line.show("10 of 20 images", done=10, total=20)
    shown = capsys.readouterr()
    assert "10 of 20 images" in shown.err
    assert shown.err.endswith("\x1b[2K")
    assert shown.out == ""


def test_words_of_others_cannot_move_the_cursor_or_change_the_style(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_terminal(monkeypatch, "stderr")
    with ProgressLine() as line:
        line.show(HOSTILE)
    assert r"a\x1b[2J\nb [bold]x[/bold] :smile:" in capsys.readouterr().err


def test_without_a_terminal_a_line_is_printed_every_ten_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    with ProgressLine() as line:
        for seconds, text in ((0, "a" * 500), (1, "b"), (9, "c"), (11, "d"), (22, "d"), (33, "e")):
            now = seconds
            line.show(text)
    assert capsys.readouterr().err == "a" * 500 + "\nd\ne\n"


async def test_a_short_command_prints_no_line_of_progress(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def steps() -> AsyncIterator[Step]:
        while True:
            yield Step("working", done=1, total=2)

    async with terminal.progress(steps()):
        await asyncio.sleep(0.01)
    assert capsys.readouterr().err == ""
