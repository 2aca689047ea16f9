"""`lading completion`: the completion script of a shell."""

import click
from click import shell_completion

from lading.cli import main

_VARIABLE = "_LADING_COMPLETE"
"""If click finds this variable, `lading` prints completions instead of running a command."""


@click.command(name="completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of a shell.

    For the running shell: `source <(lading completion bash)`. For every shell, add that line to
    ~/.bashrc or ~/.zshrc, or write the script to ~/.config/fish/completions/lading.fish.
    """
    found = shell_completion.get_completion_class(shell)
    assert found is not None, f"click has no completion for {shell}"
    click.echo(found(main.lading_command, {}, "lading", _VARIABLE).source())
