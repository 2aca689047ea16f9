"""Writes the lists of options in docs/commands.md: `python -m lading.cli.reference REPOSITORY`.

A section describes a command, or options that several commands share. A command's list has the
options that are in no shared section to which its text links. An option that another section
describes in the same words is only named. The text around the lists stays.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from lading.cli import connection, process
from lading.cli.bootimage import settings as boot_image_settings
from lading.cli.feature_options import credential_options
from lading.cli.image import node_options
from lading.cli.main import lading_command
from lading.cli.prepull import settings as prepull_settings
from lading.cli.prune import options as prune_options
from lading.wiring.generate import docs

Row = tuple[str, str]
PAGE = Path("docs/commands.md")
SHARED: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "cluster-options": connection.target_options,
    "process-options": process.process_options,
    "pre-pull-options": prepull_settings.prepull_options,
    "boot-image-options": boot_image_settings.settings_options,
    "credential-options": credential_options,
    "prune-options": prune_options.prune_options,
    "image-options": node_options.with_node_options,
}
"""By the heading of their section, as a link names it."""
COMMON_USES = 3
"""From how many commands on an option is described once for all."""


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
    """The page with its lists up to date."""
    shared = {name: _options(click.command()(add(_nothing))) for name, add in SHARED.items()}
    own = {
        name: _without(_options(command), _linked(text, name), shared)
        for name, command in commands().items()
    }
    described = {row for options in shared.values() for row in _rows(options)}
    common = list(_common(own, described))
    in_common = dict.fromkeys(common, "common-options")
    text = docs.with_text(text, "common-options", _listed(common))
    for name, options in shared.items():
        text = docs.with_text(text, name, _listed(_with_links(options, in_common)))
    section_of = {row: name for name, options in shared.items() for row in _rows(options)}
    section_of |= in_common
    for name, options in own.items():
        if options:
            text = docs.with_text(text, name, _listed(_with_links(options, section_of)))
    return text


def _listed(rows: Iterable[Row]) -> str:
    return "".join(f"- {names}: {meaning}\n" for names, meaning in rows)


def _common(own: dict[str, list[click.Option]], described: set[Row]) -> Iterator[Row]:
    """Options of several commands that no section about commands of one kind describes."""
    uses: dict[Row, list[str]] = {}
    for name, options in own.items():
        for row in _rows(options):
            uses.setdefault(row, []).append(name.split()[1])
    for row, groups in uses.items():
        if len(groups) >= COMMON_USES and (row not in described or len(set(groups)) > 1):
            yield row


def _with_links(options: list[click.Option], section_of: dict[Row, str]) -> Iterator[Row]:
    """A row for each option, and one for all options that the same other section describes."""
    elsewhere: dict[str, list[str]] = {}
    for option, row in zip(options, _rows(options), strict=True):
        if section := section_of.get(row):
            elsewhere.setdefault(section, []).extend(sorted(option.opts, key=len))
        else:
            yield row
    for section, names in elsewhere.items():
        yield ", ".join(f"`{one}`" for one in names), f"[described above](#{section})"


def _nothing(**_: Any) -> None:
    """A command without work; only its options matter."""


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


def _rows(options: list[click.Option]) -> list[Row]:
    return [(_names(one), _meaning(one)) for one in options]


def _names(option: click.Option) -> str:
    """`-f`, `--filename FILE`; a flag takes no value."""
    *others, last = sorted(option.opts, key=len)
    value = "" if option.is_flag else f" {_value(option)}"
    return ", ".join((*(f"`{one}`" for one in others), f"`{last}{value}`"))


def _value(option: click.Option) -> str:
    """The placeholder of `--help`; a choice is listed with the meaning."""
    shown = option.make_metavar(click.Context(click.Command("")))
    return "NAME" if isinstance(option.type, click.Choice) else shown


def _default(option: click.Option) -> tuple[str, ...]:
    if isinstance(option.show_default, str):
        return (option.show_default,)
    value = option.default
    if not option.show_default or value in (None, "", ()) or value is False or callable(value):
        return ()
    return tuple(map(_shown, value if isinstance(value, tuple) else (value,)))


def _shown(value: object) -> str:
    """As a user writes it."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text.replace(str(connection.DEFAULT_DATA), "~/.local/share/lading")


def _meaning(option: click.Option) -> str:
    parts = [option.help or ""]
    default = _default(option)
    if isinstance(option.type, click.Choice):
        names = (f"`{one}`{' (default)' * (one in default)}" for one in option.type.choices)
        parts.append(f"One of {', '.join(names)}.")
    elif default:
        parts.append(f"Default: {', '.join(f'`{one}`' for one in default)}.")
    if option.envvar:
        parts.append(f"Variable: `{option.envvar}`.")
    return " ".join(parts)


if __name__ == "__main__":
    file = Path(sys.argv[1], PAGE)
    file.write_text(page(file.read_text(encoding="utf-8")), encoding="utf-8")
