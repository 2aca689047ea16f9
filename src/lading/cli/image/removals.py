"""Shows the plan of a garbage collection, and carries it out with --yes."""

from collections.abc import Iterator, Mapping, Sequence

import click
import msgspec

from lading.cli import output
from lading.cli.image.runtime_classes import DEFAULT_CLASS, RuntimeClasses
from lading.cli.output import Format
from lading.kernel import quantities
from lading.ports.cri import Cri
from lading.runtime_images import apply, report
from lading.runtime_images import images as node_images
from lading.runtime_images.apply import RemovalOutcome
from lading.runtime_images.gc_types import (
    GcDecision,
    GcPlan,
    ImageVerdict,
    WriteImageRecords,
)
from lading.runtime_images.state import ImageStateFile
from lading.runtime_images.types import LocalImageId
from lading.wiring import image_commands as wiring

_HEADERS = ("IMAGE", "RUNTIME CLASS", "DECISION", "FREES", "REASON", "BECAUSE")

_UNINFORMATIVE = {"RUNTIME CLASS": DEFAULT_CLASS, "FREES": ""}

_WORDS = {
    RemovalOutcome.REMOVED: "Deleted",
    RemovalOutcome.KEPT: "Kept",
    RemovalOutcome.FAILED: "Error",
}

yes_option = click.option(
    "--yes", is_flag=True, help="Apply the plan; without --yes it is only shown."
)
form_option = output.form_option(default=Format.TABLE)


async def show(plan: GcPlan, form: Format, classes: RuntimeClasses) -> None:
    if form is not Format.TABLE:
        click.echo(
            output.document(msgspec.to_builtins(report.collection_report(plan)), form), nl=False
        )
        return
    labels = await classes.labels(plan.handlers)
    rows = [_cells(verdict, labels) for verdict in plan.verdicts]
    click.echo(_table(rows), nl=False)
    for note in _notes(plan):
        output.sentence(f"Note: {note}", err=True)


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    """Without the class where every image is for the host, and without FREES where none goes."""
    informative = [
        index
        for index, header in enumerate(_HEADERS)
        if not rows or any(row[index] != _UNINFORMATIVE.get(header) for row in rows)
    ]
    shown = [tuple(row[index] for index in informative) for row in rows]
    return output.table([_HEADERS[index] for index in informative], shown)


def _notes(plan: GcPlan) -> Iterator[str]:
    if not plan.space_is_known:
        yield "the file system of the images is not visible here; --high and --low have no effect"
    if not plan.sandbox_image_is_known:
        yield "the runtime does not report its sandbox image, so images called pause are kept"


async def finish(plan: GcPlan, runtime: Cri, state: ImageStateFile, *, yes: bool) -> None:
    """Without a yes only the records are written, so that the next run knows ages."""
    click.echo(_summary(plan, yes=yes), err=True)
    failures = 0
    for action in plan.removals if yes else ():
        removal = await apply.remove_planned(action, runtime, state, wiring.clock().now())
        failures += removal.outcome is RemovalOutcome.FAILED
        # What is printed is the plan, which a program may read.
        words = _WORDS[removal.outcome]
        name = node_images.display_name(action.image)
        output.sentence(f"{words}: {name}: {removal.message}", err=True)
    for write in plan.actions:
        if isinstance(write, WriteImageRecords):
            await state.save_records(write.records)
    if failures:
        raise click.exceptions.Exit(1)


def _summary(plan: GcPlan, *, yes: bool) -> str:
    if plan.removals:
        count, size = len(plan.removals), quantities.format_bytes(plan.freed_bytes)
        images = "1 image" if count == 1 else f"{count} images"
        return f"{images} to remove, which frees {size}{'' if yes else '; add --yes to remove'}"
    if plan.first_old_enough_at is not None:
        at = f"{plan.first_old_enough_at:%H:%M:%S} UTC"
        return f"Nothing to remove; the first image is old enough at {at}"
    return "Nothing to remove"


def _cells(verdict: ImageVerdict, labels: Mapping[LocalImageId, str]) -> tuple[str, ...]:
    removed = verdict.decision is GcDecision.REMOVE
    return (
        node_images.display_name(verdict.image),
        labels[verdict.local_id],
        verdict.decision,
        quantities.format_bytes(verdict.frees_bytes) if removed else "",
        verdict.reason,
        verdict.message,
    )
