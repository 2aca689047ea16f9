"""Options that several commands have, and the parsers of their values.

A value is parsed once. A wrong value is refused with what was expected.
"""

import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from lading.kernel import durations, quantities
from lading.kernel.errors import Malformed

T = TypeVar("T")
Amount = TypeVar("Amount", timedelta, int)
Choice = TypeVar("Choice", bound=StrEnum)
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_NAME_LENGTH_MAX = 253
STATE_FOLDER = Path("/var/lib/lading")
"""The agent and commands without a cluster share it, so that each sees the other's lock."""
LOG_LEVELS = ("debug", "info", "warning", "error")


class Removed(msgspec.Struct, frozen=True):
    """An option of an earlier release that may be ignored."""

    why: str
    has_value: bool = False


def with_former_options(
    *,
    renamed: Mapping[str, str] = types.MappingProxyType({}),
    removed: Mapping[str, Removed] = types.MappingProxyType({}),
) -> type[click.Command]:
    """A command that also takes options of earlier releases, and warns of removed ones.

    CronJobs and manifests that name them must work after an upgrade.
    """

    class FormerOptions(click.Command):
        def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
            return super().parse_args(ctx, [*current(iter(args))])

    def current(words: Iterator[str]) -> Iterator[str]:
        for word in words:
            name, equals, value = word.partition("=")
            if name not in removed:
                yield f"{renamed.get(name, name)}{equals}{value}"
                continue
            if removed[name].has_value and not equals:
                next(words, "")
            warning = f"Warning: {name} has no effect: {removed[name].why}. Remove it."
            click.echo(warning, err=True)

    return FormerOptions


def meaning(parse: Callable[[str], T]) -> Callable[[Any, Any, str | None], T | None]:
    """The callback of an option that a parser of the kernel reads."""

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
    """A duration of more than 0, because a wait or a repetition of 0 would not pause."""
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
        help="Log messages of this level and above.",
    )


def port_option(name: str, *, help: str) -> Decorator:  # noqa: A002
    """The help says what 0 means."""
    return click.option(
        name,
        metavar="PORT",
        type=click.IntRange(0, 65535),
        default=0,
        show_default=True,
        help=help,
    )


def host_option(*, help: str) -> Decorator:  # noqa: A002
    """Passes `runtime_endpoint`, which replaces the cluster; empty by default."""
    return click.option("--runtime-endpoint", metavar="SOCKET", default="", help=help)


def state_dir_option(*, help: str) -> Decorator:  # noqa: A002
    """Passes `state_dir`."""
    return click.option(
        "--state-dir",
        metavar="FOLDER",
        type=click.Path(path_type=Path, file_okay=False),
        default=STATE_FOLDER,
        show_default=True,
        help=help,
    )


def confirm_option() -> Decorator:
    """Passes `confirm`. It takes no value, because an argument may follow."""
    return click.option(
        "--confirm", is_flag=True, help="Apply the plan; without --confirm it is only shown."
    )


def files_option(
    *,
    required: bool,
    help: str = "A file, a folder with manifests, or - for standard input; may be repeated.",  # noqa: A002
) -> Decorator:
    """Passes `files`, for `documents.read`."""
    return click.option(
        "-f",
        "--filename",
        "files",
        metavar="FILE",
        multiple=True,
        required=required,
        help=help,
    )
