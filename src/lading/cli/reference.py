"""Writes the tables of options in docs/commands.md: `python -m lading.cli.reference REPOSITORY`.

A section describes a command, or options that several commands share. A command's table has the
options that are in no shared section to which its text links. The text around the tables stays.
"""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from lading.cli import connection, credential_options, process_options
from lading.cli.bootimage import settings as boot_image_settings
from lading.cli.image import node_options
from lading.cli.main import lading_command
from lading.cli.prepull import settings as prepull_settings
from lading.cli.prune import options as prune_options
from lading.wiring import marked_tables
from lading.wiring.marked_tables import Rows

PAGE = Path("docs/commands.md")
SHARED: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "cluster-options": connection.target_options,
    "process-options": process_options.process_options,
    "pre-pull-options": prepull_settings.prepull_options,
    "boot-image-options": boot_image_settings.settings_options,
    "credential-options": credential_options.credential_options,
    "prune-options": prune_options.prune_options,
    "image-options": node_options.with_node_options,
}
"""By the heading of their section, as a link names it."""


def commands() -> dict[str, click.Command]:
    """All commands that run something, by their names."""
    return dict(_commands(lading_command, "lading"))


def _commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield name, command
        return
    context = click.Context(command)
    for inner_name in command.list_commands(context):
        inner = command.get_command(context, inner_name)
        assert inner is not None
        yield from _commands(inner, f"{name} {inner_name}")


def page(text: str) -> str:
    """The page with its tables up to date."""
    shared = {name: _options(click.command()(add(_nothing))) for name, add in SHARED.items()}
    for name, options in shared.items():
        text = marked_tables.with_table(text, name, _rows(options))
    for name, command in commands().items():
        own = _without(_options(command), _linked(text, name), shared)
        if own:
            text = marked_tables.with_table(text, f"options of {name}", _rows(own))
    return text


def _nothing(**_: Any) -> None:
    """Stands for a command when only its options matter."""


def _options(command: click.Command) -> list[click.Option]:
    return [one for one in command.params if isinstance(one, click.Option) and not one.hidden]


def _linked(text: str, name: str) -> list[str]:
    """The shared sections to which the section of a command links."""
    section = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    assert section, f"{PAGE} has no section about {name}"
    return re.findall(r"\[[^]]* options\]\(#([a-z-]+)\)", section[1])


def _without(
    options: list[click.Option], linked: list[str], shared: dict[str, list[click.Option]]
) -> list[click.Option]:
    there = {tuple(one.opts) for name in linked for one in shared[name]}
    return [one for one in options if tuple(one.opts) not in there]


def _rows(options: list[click.Option]) -> Rows:
    defaults = [_default(one) for one in options]
    if not any(defaults):
        yield from marked_tables.head("option", "meaning")
        yield from ((_names(one), _meaning(one)) for one in options)
        return
    yield from marked_tables.head("option", "default", "meaning")
    for one, default in zip(options, defaults, strict=True):
        yield _names(one), default, _meaning(one)


def _names(option: click.Option) -> str:
    """`-f`, `--filename FILE`; a flag takes no value."""
    *others, last = sorted(option.opts, key=len)
    value = "" if option.is_flag else f" {_value(option)}"
    return ", ".join((*(f"`{one}`" for one in others), f"`{last}{value}`"))


def _value(option: click.Option) -> str:
    """The placeholder of `--help`; a choice is listed with the meaning."""
    shown = option.make_metavar(click.Context(click.Command("")))
    return "NAME" if isinstance(option.type, click.Choice) else shown


def _default(option: click.Option) -> str:
    if isinstance(option.show_default, str):
        return f"`{option.show_default}`"
    value = option.default
    if not option.show_default or value in (None, "", ()) or callable(value):
        return ""
    values = value if isinstance(value, tuple) else (value,)
    return ", ".join(f"`{_shown(one)}`" for one in values)


def _shown(value: object) -> str:
    """As a user writes it."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text.replace(str(connection.DEFAULT_DATA), "~/.local/share/lading")


def _meaning(option: click.Option) -> str:
    parts = [option.help or ""]
    if isinstance(option.type, click.Choice):
        parts.append(f"One of {', '.join(f'`{one}`' for one in option.type.choices)}.")
    if option.envvar:
        parts.append(f"Variable: `{option.envvar}`.")
    return " ".join(parts).replace("|", "\\|")


if __name__ == "__main__":
    file = Path(sys.argv[1], PAGE)
    file.write_text(page(file.read_text(encoding="utf-8")), encoding="utf-8")
