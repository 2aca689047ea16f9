"""The `lading` command in a thread of this process, for what needs no process of its own."""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from unittest import mock

from click.testing import CliRunner

from lading.cli.main import lading_command


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    code: int
    output: str
    errors: str


async def lading(
    *words: str, text: str | None = None, environment: Mapping[str, str] | None = None
) -> CommandResult:
    """In a thread, because a command has an event loop of its own; `text` is its input.

    `environment` adds variables, which the whole process sees until the command ends.

    Each sets up its logs itself, as a new process does, whatever a test before has set up. Until
    then those of the test stay: a cluster that runs beside it may log at any moment.
    """
    with (
        mock.patch("structlog.is_configured", return_value=False),
        mock.patch.dict(os.environ, environment or {}),
    ):
        result = await asyncio.to_thread(
            CliRunner().invoke, lading_command, list(words), input=text
        )
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return CommandResult(code=result.exit_code, output=result.stdout, errors=result.stderr)
