"""What a check found, and how a person and a program read it."""

import textwrap
from collections.abc import Iterable, Sequence
from enum import StrEnum

import click
import msgspec

from lading.cli import output
from lading.cli.output import Format
from lading.kernel import texts

_COLUMNS = 80
_RESULT_WIDTH, _CHECK_WIDTH = 9, 16
_COLOURS = {"ok": "green", "warning": "yellow", "failed": "red", "skipped": "cyan"}


class CheckResult(StrEnum):
    OK = "ok"
    """Nothing is wrong."""
    WARNING = "warning"
    """Something may be wrong; the exit code stays 0."""
    FAILED = "failed"
    """Something is wrong; the exit code is 1."""
    SKIPPED = "skipped"
    """The check needs something that is not there, such as a cluster or a container runtime."""


class CheckFinding(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    check: str
    """What was checked, as a name."""
    result: CheckResult
    found: str
    """One sentence."""
    next_step: str = ""
    """What to do about it; empty where there is nothing to do."""


def ok(check: str, found: str) -> CheckFinding:
    return CheckFinding(check=check, result=CheckResult.OK, found=found)


def warning(check: str, found: str, next_step: str) -> CheckFinding:
    return CheckFinding(check=check, result=CheckResult.WARNING, found=found, next_step=next_step)


def failed(check: str, found: str, next_step: str) -> CheckFinding:
    return CheckFinding(check=check, result=CheckResult.FAILED, found=found, next_step=next_step)


def skipped(check: str, found: str, next_step: str = "") -> CheckFinding:
    return CheckFinding(check=check, result=CheckResult.SKIPPED, found=found, next_step=next_step)


def any_failed(findings: Iterable[CheckFinding]) -> bool:
    return any(one.result is CheckResult.FAILED for one in findings)


def show(findings: Sequence[CheckFinding], form: Format) -> None:
    if form is not Format.TABLE:
        click.echo(output.document(documents(findings), form), nl=False)
        return
    for one in findings:
        result = click.style(f"{one.result:<{_RESULT_WIDTH}}", fg=_COLOURS[one.result])
        first, *more = lines(one)
        click.echo(f"{result}{first}")
        for line in more:
            click.echo(" " * _RESULT_WIDTH + line)
    click.echo(f"\n{summary(findings)}")


def documents(findings: Iterable[CheckFinding]) -> list[dict[str, str]]:
    return [msgspec.to_builtins(one) for one in findings]


def lines(one: CheckFinding) -> list[str]:
    """The finding beside its result, in what is left of 80 columns."""
    wrapped = _wrapped(one.found)
    if one.next_step:
        wrapped += _wrapped(f"Next: {one.next_step}")
    names = [one.check, *[""] * (len(wrapped) - 1)]
    return [
        f"{name:<{_CHECK_WIDTH}}{text}".rstrip() for name, text in zip(names, wrapped, strict=True)
    ]


def _wrapped(text: str) -> list[str]:
    width = _COLUMNS - _RESULT_WIDTH - _CHECK_WIDTH
    bounded = texts.bounded_text(text)
    return textwrap.wrap(bounded, width, break_on_hyphens=False) or [""]


def summary(findings: Sequence[CheckFinding]) -> str:
    counts = {result: sum(one.result is result for one in findings) for result in CheckResult}
    return ", ".join(f"{count} {result}" for result, count in counts.items()) + "."
