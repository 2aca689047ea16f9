"""Log lines as a machine and as a person read them, without secrets."""

import io
import json
import logging
from collections.abc import Iterable, Sequence
from typing import Any

import hpack
import pytest
import structlog

from lading.observability import logs
from lading.observability.logs import LogFormat


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


def test_headers_of_grpc_calls_are_not_written_at_the_level_debug(stream: io.StringIO) -> None:
    logs.configure(LogFormat.JSON, "debug", stream=stream)
    logging.getLogger("aiohttp.client").debug("other libraries are")
    headers = [("authorization", "hunter2"), ("x-registry-auth", "hunter2")]
    encoder, decoder = hpack.Encoder(), hpack.Decoder()
    assert hpack_names(decoder.decode(encoder.encode(headers))) == [
        "authorization",
        "x-registry-auth",
    ]
    encoder.header_table_size = 0  # which evicts them
    encoder.encode(headers)
    assert [line["event"] for line in lines(stream)] == ["other libraries are"]


def hpack_names(headers: Iterable[Sequence[str | bytes]]) -> list[str | bytes]:
    return [header[0] for header in headers]


def test_the_console_form_is_for_people(stream: io.StringIO) -> None:
    logs.configure(LogFormat.CONSOLE, stream=stream)
    structlog.get_logger("lading.test").info("pinned", images=3, token="abc")
    assert "pinned" in stream.getvalue()
    assert "images=3" in stream.getvalue()
    assert "abc" not in stream.getvalue()


def test_a_stranger_cannot_flood_a_line_or_write_to_the_terminal(stream: io.StringIO) -> None:
    logs.configure(LogFormat.CONSOLE, stream=stream)
    structlog.get_logger("lading.test").warning("not resolved", error="\x1b[2J" + "x " * 500_000)
    assert len(stream.getvalue()) < 10_000
    assert "\x1b" not in stream.getvalue()


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


def test_a_person_reads_warnings_as_sentences(stream: io.StringIO) -> None:
    logs.configure_for_person(silent="lading.pinned_images", stream=stream)
    structlog.get_logger("lading.wiring").warning("registry configuration", problem="no such file")
    structlog.get_logger("lading.wiring").info("not shown")
    structlog.get_logger("lading.pinned_images.node").warning("shown by the command itself")
    assert stream.getvalue() == "Warning: registry configuration: no such file\n"
