"""`lading image`: the images of one container runtime, in the way of crictl, by runtime class."""

import importlib

import click

_COMMANDS = {
    "pull": "Pull an image, for a runtime class if one is named.",
    "ls": "List the images and the runtime class of each.",
    "rm": "Remove images, each only for the runtime class that is named.",
    "inspect": "Show what the runtime knows about images.",
    "fsinfo": "Show what the images take on disk.",
    "prune": "Remove images that nobody needs; without --yes only show the plan.",
    "cleanup": "Undo what the feature gate left behind; without --yes only show the plan.",
}


class _ImageCommands(click.Group):
    """Finds each command in the module of its name, imported when it is called for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"lading.cli.image.{cmd_name}")
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(name="image", cls=_ImageCommands)
def command() -> None:
    """Pull, list, remove and collect the images of a container runtime, by runtime class.

    The runtime is found as crictl finds it: --runtime-endpoint, CONTAINER_RUNTIME_ENDPOINT,
    /etc/crictl.yaml, then the usual sockets.
    """
