"""Shows a removal plan, and carries it out when that was said."""

from collections.abc import Mapping

import click

from lading.cli import output
from lading.cli.image.runtime_classes import RuntimeClasses
from lading.cli.output import Format
from lading.ports.cri import Cri
from lading.ports.state_file import StateFile
from lading.runtime_images import apply, names
from lading.runtime_images.apply import Outcome
from lading.runtime_images.types import Decision, ImageKey, RemovalPlan, Verdict, Whose

_HEADERS = ("IMAGE", "RUNTIME CLASS", "DECISION", "FREES", "REASON", "BECAUSE")

_WORDS = {Outcome.REMOVED: "Deleted", Outcome.KEPT: "Kept", Outcome.FAILED: "Error"}

yes_option = click.option("--yes", is_flag=True, help="Do it; without, only the plan is shown.")
form_option = output.form_option(default=Format.TABLE)


async def show(plan: RemovalPlan, form: Format, classes: RuntimeClasses) -> None:
    if form is not Format.TABLE:
        click.echo(output.document(_document(plan), form), nl=False)
        return
    labels = await classes.labels(plan.whose)
    rows = (_cells(verdict, labels) for verdict in plan.verdicts)
    click.echo(output.table(_HEADERS, rows), nl=False)
    for note in plan.notes:
        click.echo(f"Note: {note}", err=True)


async def finish(plan: RemovalPlan, runtime: Cri, document: StateFile, *, yes: bool) -> None:
    """Without a yes only the look is remembered, so that the next one knows ages."""
    click.echo(_summary(plan, yes=yes), err=True)
    if not yes:
        await apply.remember(plan, document)
        return
    failures = 0
    async for removal in apply.apply(plan, runtime, document):
        failures += removal.outcome is Outcome.FAILED
        # What is printed is the plan, which a program may read.
        click.echo(f"{_WORDS[removal.outcome]}: {removal.key}: {removal.message}", err=True)
    if failures:
        raise click.exceptions.Exit(1)


def _summary(plan: RemovalPlan, *, yes: bool) -> str:
    if plan.actions:
        count, size = len(plan.actions), output.decimal_size(plan.freed_bytes)
        return f"{count} to remove, which frees {size}{'' if yes else '; add --yes to do it'}"
    if plan.recheck_at is not None:
        return f"Nothing to remove; the first of the young can go at {plan.recheck_at:%H:%M:%S} UTC"
    return "Nothing to remove"


def _cells(verdict: Verdict, labels: Mapping[ImageKey, str]) -> tuple[str, ...]:
    removed = verdict.decision is Decision.REMOVE
    return (
        names.display_name(verdict.image),
        labels[verdict.key],
        verdict.decision,
        output.decimal_size(verdict.frees_bytes) if removed else "",
        verdict.reason,
        verdict.message,
    )


def _document(plan: RemovalPlan) -> dict[str, object]:
    return {
        "wantedBytes": plan.wanted_bytes,
        "freedBytes": plan.freed_bytes,
        "notes": list(plan.notes),
        "verdicts": [_verdict(one, plan.whose[one.key]) for one in plan.verdicts],
    }


def _verdict(verdict: Verdict, whose: Whose) -> dict[str, object]:
    return {
        "id": verdict.image.id,
        "runtimeHandler": verdict.image.runtime_handler,
        "byDigestForHandlers": list(whose.by_digest),
        "names": [*verdict.image.repo_tags, *verdict.image.repo_digests],
        "decision": verdict.decision.value,
        "reason": verdict.reason.value,
        "message": verdict.message,
        "freesBytes": verdict.frees_bytes,
    }
