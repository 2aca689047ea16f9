"""The `lading` command: finds the subcommand and turns errors of ours into sentences."""

import sys
from typing import Any, NoReturn

import click

import lading
from lading.cli.lazy import LazyGroup

_COMMANDS = {
    "demo": "Run everything on this machine, check it, and end.",
    "up": "Run a cluster in this process until Ctrl-C.",
    "apply": "Create or update objects from files.",
    "get": "Show objects.",
    "delete": "Delete objects.",
    "pin": "Plan pinned image sets and watch how far the nodes are.",
    "image": "Pull, list and remove images of a container runtime, by runtime class.",
    "validate": "Check objects in files without a cluster.",
    "crds": "Print the CustomResourceDefinitions.",
    "controller": "Run the controllers (in a Deployment).",
    "agent": "Run the agent of a node (in a DaemonSet).",
}


class _Lading(LazyGroup):
    def invoke(self, ctx: click.Context) -> Any:
        """Errors that Lading names itself are for people; any other is a bug, with its trace."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            if isinstance(error, click.ClickException) or not _is_ours(error):
                raise
            raise click.ClickException(str(error)) from error


def _is_ours(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return all(_is_ours(inner) for inner in error.exceptions)
    return type(error).__module__.startswith("lading.")


@click.group(
    cls=_Lading,
    package="lading.cli",
    commands=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(lading.__version__, prog_name="lading")
def lading_command() -> None:
    """Keeps the right container images in the right places of a Kubernetes cluster."""


def main(arguments: list[str] | None = None) -> NoReturn:
    sys.exit(lading_command.main(args=arguments, prog_name="lading"))
