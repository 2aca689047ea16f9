"""Options that several commands have, and options that are parsed.

Such a text is read once, and refused with what was expected.
"""

import re
from collections.abc import Callable, Iterable
from datetime import timedelta
from enum import StrEnum
from typing import Any, TypeVar

import click

from lading.kernel import durations, quantities
from lading.kernel.errors import Malformed

T = TypeVar("T")
Amount = TypeVar("Amount", timedelta, int)
Choice = TypeVar("Choice", bound=StrEnum)
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_NAME_LENGTH_MAX = 253
LOG_LEVELS = ("debug", "info", "warning", "error")


def meaning(parse: Callable[[str], T]) -> Callable[[Any, Any, str | None], T | None]:
    """The callback of an option that is read by one of the kernel's parsers."""

    def read(_context: object, _option: object, text: str | None) -> T | None:
        try:
            return None if text is None else parse(text)
        except Malformed as error:
            raise click.BadParameter(str(error)) from error

    return read


def period(text: str) -> timedelta:
    """A duration of 0 or more."""
    return _at_least(timedelta(), durations.parse(text), text, what="duration")


def positive_period(text: str) -> timedelta:
    """A duration of more than 0: what is repeated or waited for needs some time."""
    found = durations.parse(text)
    if found <= timedelta():
        raise Malformed(what="duration", text=text, reason="expected more than 0")
    return found


def size(text: str) -> int:
    """Bytes, 0 or more."""
    return _at_least(0, quantities.parse_bytes(text), text, what="size")


def object_name(text: str) -> str:
    """A name that Kubernetes accepts for most objects."""
    if len(text) > _NAME_LENGTH_MAX or not _NAME.fullmatch(text):
        reason = (
            "expected lower-case letters, digits, '-' and '.', with a letter or digit at both ends"
        )
        raise Malformed(what="name", text=text, reason=reason)
    return text


def _at_least(smallest: Amount, found: Amount, text: str, *, what: str) -> Amount:
    if found < smallest:
        raise Malformed(what=what, text=text, reason="expected 0 or more")
    return found


def choice_option(*names: str, default: Choice, choices: Iterable[Choice], help: str) -> Decorator:  # noqa: A002
    """An option that takes the values of an enumeration; click would take its names."""
    return click.option(
        *names,
        type=click.Choice([choice.value for choice in choices]),
        default=default.value,
        show_default=True,
        callback=lambda _context, _option, value: type(default)(value),
        help=help,
    )


def log_level_option(default: str) -> Decorator:
    return click.option(
        "--log-level",
        type=click.Choice(LOG_LEVELS),
        default=default,
        show_default=True,
        help="The lowest level that is logged.",
    )


def port_option(name: str, *, help: str) -> Decorator:  # noqa: A002
    """The help says what becomes of 0."""
    return click.option(
        name,
        metavar="PORT",
        type=click.IntRange(0, 65535),
        default=0,
        show_default=True,
        help=help,
    )


def host_option(*, help: str) -> Decorator:  # noqa: A002
    """Hands over `runtime_endpoint`, which stands in the place of a cluster; empty by default."""
    return click.option("--runtime-endpoint", metavar="SOCKET", default="", help=help)


def files_option(
    *,
    required: bool,
    help: str = "A file, a folder with manifests, or - for standard input; may be repeated.",  # noqa: A002
) -> Decorator:
    """Hands over `files`, for `documents.read`."""
    return click.option(
        "-f",
        "--filename",
        "files",
        metavar="FILE",
        multiple=True,
        required=required,
        help=help,
    )
