"""`lading prune`: deletes images from a registry that are no longer needed, with a way back."""

import importlib.util

import click

from lading.cli.lazy import LazyGroup

_COMMANDS = {
    "images": "Delete unneeded images; without --confirm only show what would go.",
    "plan": "Write what would go into a file.",
    "apply": "Delete what a plan file says, as far as it is still right.",
    "why": "Show why a tag, a digest or a blob stays or goes.",
    "trash": "List what is in the trash.",
    "restore": "Put images of the trash back.",
    "references": "Write what a cluster uses into a file, for a run elsewhere.",
}


class _Prune(LazyGroup):
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if importlib.util.find_spec("numpy") is None:
            raise click.ClickException(
                "the pruner needs numpy, which is not installed; run: pip install lading[prune]"
            )
        return super().get_command(ctx, cmd_name)


@click.group(name="prune", cls=_Prune, package="lading.cli.prune", commands=_COMMANDS)
def command() -> None:
    """Delete images from a registry that are no longer needed, each with a reason."""
