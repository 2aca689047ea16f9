"""The exit codes of every command; docs/glossary.md lists them. click has those of 1 and 2."""

from enum import IntEnum

import click


class ExitCode(IntEnum):
    DONE = 0
    FAILED = 1
    USAGE = 2
    REFUSED = 3
    TIMED_OUT = 124  # as timeout(1)
    INTERRUPTED = 130  # as a shell


class RefusedByGuard(click.ClickException):
    exit_code = ExitCode.REFUSED


class CommandTimedOut(click.ClickException):
    exit_code = ExitCode.TIMED_OUT
