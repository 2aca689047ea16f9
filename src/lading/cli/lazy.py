"""Groups of commands. A module is imported only when its command runs.

Importing all of them would make `lading --help` slow.
"""

import difflib
import importlib
from collections.abc import Mapping
from typing import Any

import click
from click.shell_completion import CompletionItem


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
        command = importlib.import_module(f"{self._package}.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self._helps and not args[0].startswith("-"):
            ctx.fail(f"no such command {args[0]!r}{self._suggestion(args[0])}")
        return super().resolve_command(ctx, args)

    def _suggestion(self, word: str) -> str:
        if word == "help":
            return "; use --help"
        close = difflib.get_close_matches(word, self._helps)
        return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Completes without importing a command, because a person waits for the next character."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [
            CompletionItem(name, help=text)
            for name, text in self._helps.items()
            if name.startswith(incomplete)
        ]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self._helps.items()))
