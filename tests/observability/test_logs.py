"""Log lines as a machine and as a person read them, without secrets."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from lading.observability import logs, redaction
from lading.observability.logs import LogFormat


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_json_line_carries_level_logger_time_and_fields(stream: io.StringIO) -> None:
    logs.configure(LogFormat.JSON, stream=stream)
    structlog.get_logger("lading.test").bind(pool="worker").info("pinned", images=3)
    [line] = lines(stream)
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "pinned",
        "images": 3,
        "level": "info",
        "logger": "lading.test",
        "pool": "worker",
    }


def test_records_of_libraries_look_the_same(stream: io.StringIO) -> None:
    logs.configure(LogFormat.JSON, stream=stream)
    logging.getLogger("aiohttp.server").warning("odd request from %s", "somewhere")
    [line] = lines(stream)
    assert line["event"] == "odd request from somewhere"
    assert line["logger"] == "aiohttp.server"


def test_what_is_below_the_level_is_not_written(stream: io.StringIO) -> None:
    logs.configure(LogFormat.JSON, "warning", stream=stream)
    log = structlog.get_logger("lading.test")
    log.info("unimportant")
    log.warning("important")
    assert [line["event"] for line in lines(stream)] == ["important"]


def test_a_trace_is_part_of_the_line_and_redacted(stream: io.StringIO) -> None:
    logs.configure(LogFormat.JSON, stream=stream)
    try:
        raise ValueError("login with password=hunter2 failed")
    except ValueError as error:
        structlog.get_logger("lading.test").error("failed", exc_info=error)
    [line] = lines(stream)
    assert "ValueError" in line["exception"]
    assert "hunter2" not in stream.getvalue()


def test_the_console_form_is_for_people(stream: io.StringIO) -> None:
    logs.configure(LogFormat.CONSOLE, stream=stream)
    structlog.get_logger("lading.test").info("pinned", images=3, token="abc")
    assert "pinned" in stream.getvalue()
    assert "images=3" in stream.getvalue()
    assert "abc" not in stream.getvalue()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("password", "hunter2"),
        ("registryToken", "hunter2"),
        ("Authorization", "Basic hunter2"),
        (".dockerconfigjson", "hunter2"),
        ("headers", {"authorization": "hunter2"}),
        ("auths", [{"quay.io": {"identity_token": "hunter2"}}]),
        ("error", "GET https://me:hunter2@quay.io/v2/ failed"),
        ("error", "sent Authorization: Bearer hunter2hunter2"),
        ("error", "https://s3/blob?X-Amz-Signature=hunter2&x=1"),
        ("error", "https://blob/x?sv=1&sig=hunter2%3D&x=1"),
        ("error", '{"token": "hunter2"}'),
        ("error", "eyJhunter2hunter2.eyJhunter2.hunter2"),
    ],
    ids=lambda case: str(case)[:40],
)
def test_what_looks_like_a_secret_is_taken_out(name: str, value: Any) -> None:
    assert "hunter2" not in str(redaction.redact_field(name, value))


@pytest.mark.parametrize(
    "text",
    [
        "pinned quay.io/team/app@sha256:" + "a" * 64,
        "https://quay.io:443/v2/team/app/manifests/latest answered 404",
        "basic checks passed; the bearer of this is well",
        "3 of 5 images, 120 MiB at 10:42:00",
    ],
)
def test_ordinary_words_stay(text: str) -> None:
    assert redaction.redact_text(text) == text


@pytest.mark.parametrize("word", ["a-", "a.", "token", "-eyJaaaaaaaa", "basic ", "a://"])
def test_a_text_that_was_made_to_take_long_does_not(word: str) -> None:
    """Whoever makes the search go over the text once per word is stopped by the time limit."""
    redaction.redact_text(word * (100_000 // len(word)))


@given(
    st.recursive(
        st.none() | st.text() | st.integers(), lambda s: st.lists(s) | st.dictionaries(st.text(), s)
    )
)
def test_any_value_can_be_redacted_twice(value: Any) -> None:
    once = redaction.redact_value(value)
    assert redaction.redact_value(once) == once


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "coloured"),
    [
        (Terminal(), {"TERM": "xterm"}, True),
        (Terminal(), {"TERM": "xterm", "NO_COLOR": "1"}, False),
        (Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {"TERM": "xterm"}, False),
    ],
    ids=["a terminal", "who wants none", "a terminal that has none", "a file"],
)
def test_colours_are_for_terminals_that_want_them(
    stream: io.StringIO,
    environment: dict[str, str],
    coloured: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    logs.configure(LogFormat.CONSOLE, stream=stream)
    structlog.get_logger("lading.test").info("pinned", images=3)
    assert ("\x1b[" in stream.getvalue()) == coloured
