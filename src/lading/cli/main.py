"""The `lading` command: finds the subcommand, imports its module, and turns errors into sentences.

Subcommands live in modules of their own and are imported only when called for, because importing
all of them would make `lading --help` slow.
"""

import importlib
import sys
from typing import Any, NoReturn

import click

import lading

_COMMANDS = {
    "crds": ("lading.cli.crds", "Print the CustomResourceDefinitions."),
    "validate": ("lading.cli.validate", "Check objects in files without a cluster."),
}


class _LazyGroup(click.Group):
    """A group that knows the names and one-line helps of its commands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(_COMMANDS[cmd_name][0])
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(lading.__version__, prog_name="lading")
def lading_command() -> None:
    """Keeps the right container images in the right places of a Kubernetes cluster."""


def main(arguments: list[str] | None = None) -> NoReturn:
    options: dict[str, Any] = {"args": arguments, "prog_name": "lading"}
    sys.exit(lading_command.main(**options))
