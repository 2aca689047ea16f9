"""`lading image gc`: garbage collection by hand, with the kubelet's policy and its defaults.

`lading image cleanup` shows and applies its plan in the same way.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import click
import msgspec

from lading.cli import options, output, running
from lading.cli.image.node_options import NodeOptions, with_node_options
from lading.cli.image.runtime_classes import DEFAULT_CLASS, RuntimeClasses, runtime_option
from lading.cli.output import Format
from lading.kernel import quantities
from lading.kernel.values import replace
from lading.ports.cri import Cri
from lading.runtime_images import apply, observe, report
from lading.runtime_images import images as node_images
from lading.runtime_images import plan as planning
from lading.runtime_images.apply import RemovalOutcome
from lading.runtime_images.gc_types import (
    GcDecision,
    GcPlan,
    GcPolicy,
    ImageVerdict,
    WriteImageRecords,
)
from lading.runtime_images.state import ImageStateFile
from lading.runtime_images.types import LocalImageId
from lading.wiring import machine

_HEADERS = ("IMAGE", "RUNTIME CLASS", "DECISION", "FREES", "REASON", "BECAUSE")

_UNINFORMATIVE = {"RUNTIME CLASS": DEFAULT_CLASS, "FREES": ""}

_WORDS = {
    RemovalOutcome.REMOVED: "Deleted",
    RemovalOutcome.KEPT: "Kept",
    RemovalOutcome.FAILED: "Error",
}


FormerNames = options.with_former_options(
    renamed={"--minimum-age": "--keep-younger-than", "--yes": "--confirm"}
)


def removal_options(command: Callable[..., Any]) -> Callable[..., Any]:
    return options.confirm_option()(output.form_option(default=Format.TABLE)(command))


@click.command(name="gc", cls=FormerNames)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Remove every unused image, even with enough free space.",
)
@click.option(
    "--keep-younger-than",
    metavar="DURATION",
    callback=options.meaning(options.period),
    default="2m",
    show_default=True,
    help="Keep images that were first seen less than this time ago; 0 to free space at once.",
)
@removal_options
@runtime_option
@with_node_options
def command(
    node: NodeOptions,
    everything: bool,
    keep_younger_than: timedelta,
    confirm: bool,
    form: Format,
    runtime: str | None,
) -> None:
    """Remove unused images as the kubelet does; without --confirm only show the plan.

    It starts when 85% of the disk is used, and ends at 80%. The plan gives a reason for each image.
    """
    policy = GcPolicy(minimum_age=keep_younger_than, everything_unused=everything)
    running.run(_collect(node, policy, runtime, form, confirm=confirm))


async def _collect(
    node: NodeOptions, policy: GcPolicy, runtime_class: str | None, form: Format, *, confirm: bool
) -> None:
    if runtime_class is not None:
        policy = replace(policy, only_handler=await node.handler(runtime_class))
    async with node.runtime() as runtime:
        observed = await observe.observe(runtime, machine.disk(), node.state)
        plan = planning.plan(observed, policy, machine.clock().now())
        await show(plan, form, node.runtime_classes)
        await finish(plan, runtime, node.state, confirm=confirm)


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
    """Leaves out columns with the same uninteresting value in every row."""
    informative = [
        index
        for index, header in enumerate(_HEADERS)
        if not rows or any(row[index] != _UNINFORMATIVE.get(header) for row in rows)
    ]
    shown = [tuple(row[index] for index in informative) for row in rows]
    return output.table([_HEADERS[index] for index in informative], shown)


def _notes(plan: GcPlan) -> Iterator[str]:
    if not plan.space_is_known:
        yield "the file system of the images is not visible here, so its free space is unknown"
    if not plan.sandbox_image_is_known:
        yield "the runtime does not report its sandbox image, so images called pause are kept"


async def finish(plan: GcPlan, runtime: Cri, state: ImageStateFile, *, confirm: bool) -> None:
    """Without --confirm only the records are written, so that the next run knows the ages."""
    click.echo(_summary(plan, confirm=confirm), err=True)
    failures = 0
    for action in plan.removals if confirm else ():
        removal = await apply.remove_planned(action, runtime, state, machine.clock().now())
        failures += removal.outcome is RemovalOutcome.FAILED
        # On standard error, because a program may read the plan.
        words = _WORDS[removal.outcome]
        name = node_images.display_name(action.image)
        output.sentence(f"{words}: {name}: {removal.message}", err=True)
    for write in plan.actions:
        if isinstance(write, WriteImageRecords):
            await state.save_records(write.records)
    if failures:
        raise click.exceptions.Exit(1)


def _summary(plan: GcPlan, *, confirm: bool) -> str:
    if plan.removals:
        count, size = len(plan.removals), quantities.format_bytes(plan.freed_bytes)
        images = "1 image" if count == 1 else f"{count} images"
        advice = "" if confirm else "; add --confirm to remove"
        return f"{images} to remove, which frees {size}{advice}"
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
