"""Structured logs on standard error: JSON for machines, lines for people.

Records of the standard library (aiohttp, asyncio) come out in the same form. Each value is bounded,
and what looks like a secret is left out.
"""

import logging
import os
import sys
from collections.abc import Mapping, MutableMapping
from enum import StrEnum
from typing import Any, TextIO

import msgspec
import structlog

from lading.kernel import texts
from lading.kernel.texts import REDACTED

_LOGGERS_OF_HEADERS = ("hpack",)
"""These libraries log the headers of gRPC calls, with their values, at the level debug."""
_NOT_FOR_PERSONS = ("event", "level", "logger", "timestamp")


class LogFormat(StrEnum):
    JSON = "json"
    CONSOLE = "console"


def configure(
    format: LogFormat,  # noqa: A002 - the word of the command line option
    level: str = "info",
    *,
    stream: TextIO | None = None,
) -> None:
    """Sets up logging for the whole process; called once, by the command that runs."""
    target = stream or sys.stderr
    _configure(level, target, _renderer(format, colours=_takes_colours(target)))


def configure_for_person(*, silent: str, stream: TextIO | None = None) -> None:
    """Warnings as sentences, without time and place, for a command that a person runs.

    What the package `silent` would log the command shows itself.
    """
    handler = _configure("warning", stream or sys.stderr, _sentence)
    handler.addFilter(lambda record: not record.name.startswith(silent))


def _configure(level: str, target: TextIO, renderer: structlog.typing.Processor) -> logging.Handler:
    number = logging.getLevelNamesMapping()[level.upper()]
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        bounded,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(target)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                renderer,
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=number, force=True)
    for name in _LOGGERS_OF_HEADERS:
        logging.getLogger(name).setLevel(max(number, logging.INFO))
    return handler


def _renderer(format: LogFormat, *, colours: bool) -> structlog.typing.Processor:  # noqa: A002
    if format is LogFormat.CONSOLE:
        return structlog.dev.ConsoleRenderer(colors=colours)
    return structlog.processors.JSONRenderer(serializer=to_json)


def _sentence(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> str:
    parts = [str(value) for name, value in event.items() if name not in _NOT_FOR_PERSONS]
    level = str(event.get("level", "warning")).capitalize()
    return f"{level}: {': '.join([str(event['event']), *parts])}"


def _takes_colours(target: TextIO) -> bool:
    """Whether the target is a terminal with colours, and NO_COLOR is not set."""
    declined = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return target.isatty() and not declined


def to_json(event: Any, **_: Any) -> str:
    return msgspec.json.encode(event, enc_hook=str).decode()


def bounded(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> dict[str, Any]:
    return {
        name: value if name.startswith("_") else bounded_field(name, value)
        for name, value in event.items()
    }


DEPTH_MAX = 8  # deeper values are not shown at all
ITEMS_MAX = 100
_LINES = frozenset({"exception", "stack"})  # what structlog makes of exc_info and stack_info


def bounded_value(value: Any, *, depth: int = 0) -> Any:
    """The value, as deep as it is shown; any other object is shown as its text."""
    if depth > DEPTH_MAX:
        return REDACTED
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            return texts.bounded_text(value)
        case Mapping():
            first = list(value.items())[:ITEMS_MAX]
            shown = {
                texts.bounded_text(str(key)): bounded_field(key, inner, depth=depth + 1)
                for key, inner in first
            }
            return shown if len(value) <= ITEMS_MAX else shown | {"…": f"{len(value)} fields"}
        case list() | tuple():
            items = [bounded_value(inner, depth=depth + 1) for inner in value[:ITEMS_MAX]]
            return items if len(value) <= ITEMS_MAX else [*items, f"… ({len(value)} items)"]
        case _:
            return texts.bounded_text(str(value))


def bounded_field(name: object, value: Any, *, depth: int = 0) -> Any:
    is_secret = isinstance(name, str) and texts.SECRET_NAME.search(name)
    if is_secret and value not in (None, "", False):
        return REDACTED
    if name in _LINES and isinstance(value, str):
        return texts.bounded_text(value, bytes_max=texts.LINES_BYTES_MAX, keep_lines=True)
    return bounded_value(value, depth=depth)
