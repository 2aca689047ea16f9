"""All commands of `lading` that run something, by their names."""

from collections.abc import Iterator

import click

from lading.cli.main import lading_command


def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield name, command
        return
    context = click.Context(command)
    for inner_name in command.list_commands(context):
        inner = command.get_command(context, inner_name)
        assert inner is not None
        yield from commands(inner, f"{name} {inner_name}")


COMMANDS = dict(commands(lading_command, "lading"))
