"""Groups of commands; a module is imported only when its command is run.

Importing all of them would make `lading --help` slow.
"""

import importlib
from collections.abc import Mapping
from typing import Any

import click


class LazyGroup(click.Group):
    """Knows the names and one-line helps of its commands; each is `command` of its module."""

    def __init__(self, *args: Any, package: str, commands: Mapping[str, str], **more: Any) -> None:
        super().__init__(*args, **more)
        self._package = package
        self._helps = commands

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._helps)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._helps:
            return None
        module = importlib.import_module(f"{self._package}.{cmd_name}")
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self._helps.items()))
