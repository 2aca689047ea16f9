"""The result of a check, and how it is printed."""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

import click
import msgspec

from lading.cli import output
from lading.cli.output import Format

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
    result: CheckResult
    found: str
    """One sentence."""
    next_step: str = ""
    """Empty if there is nothing to do."""


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
    text = output.aligned(_rows(findings), columns=output.screen_columns())
    for line in text.splitlines():
        result, gap, rest = line.partition(" ")
        shown = click.style(result, fg=_COLOURS[result]) if result in _COLOURS else result
        click.echo(f"{shown}{gap}{rest}")
    click.echo(f"\n{summary(findings)}")


def _rows(findings: Iterable[CheckFinding]) -> Iterator[tuple[str, str, str]]:
    for one in findings:
        yield one.result, one.check, one.found
        if one.next_step:
            yield "", "", f"Next: {one.next_step}"


def documents(findings: Iterable[CheckFinding]) -> list[dict[str, str]]:
    return [msgspec.to_builtins(one) for one in findings]


def summary(findings: Sequence[CheckFinding]) -> str:
    counts = {result: sum(one.result is result for one in findings) for result in CheckResult}
    return ", ".join(f"{count} {result}" for result, count in counts.items()) + "."
