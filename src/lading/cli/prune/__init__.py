"""`lading prune`: deletes images from a registry that are no longer needed, with a way back."""

import importlib
import importlib.util

import click

from lading.cli.lazy import LazyGroup

_COMMANDS = {
    "images": "Delete unneeded images; without --confirm only show the plan.",
    "blobs": "Free the storage that no manifest needs; without --confirm only show the plan.",
    "plan": "Write the plan of deletions into a file.",
    "apply": "Delete what a plan file names, if a new plan names it too.",
    "why": "Show why a tag, a digest or a blob is kept or deleted.",
    "trash": "List the images in the trash.",
    "restore": "Restore images from the trash.",
    "references": "Write the references of a cluster into a file, for another run.",
}
_SHARED_MODULES = {"apply": "plan", "restore": "trash"}
"""Commands that are in the module of another command."""


class _Prune(LazyGroup):
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for package in ("numpy", "obstore"):
            if importlib.util.find_spec(package) is None:
                raise click.ClickException(
                    f"the pruner needs {package}, which is not installed; run:"
                    " pip install lading[prune]"
                )
        if cmd_name not in _SHARED_MODULES:
            return super().get_command(ctx, cmd_name)
        module = importlib.import_module(f"{__name__}.{_SHARED_MODULES[cmd_name]}")
        command = getattr(module, f"{cmd_name}_command")
        assert isinstance(command, click.Command)
        return command


@click.group(name="prune", cls=_Prune, package="lading.cli.prune", commands=_COMMANDS)
def command() -> None:
    """Delete images that are no longer needed from a registry, each with a reason."""
