"""`lading bootimage plan`: shows what the controller would do, by its own rules."""

from collections.abc import Iterator
from typing import Any

import click

from lading.boot_images import commands, plan, rules
from lading.boot_images.decide import MachineSetDecision, ReconcileInput
from lading.boot_images.types import BootImageSettings, CloudAccess
from lading.boot_images.verdicts import MachineSetState
from lading.cli import connection, output, running
from lading.cli.bootimage.settings import ec2_options, settings_options
from lading.cli.connection import Target
from lading.cli.output import Format
from lading.kernel import texts
from lading.kernel.values import replace
from lading.wiring.clock import system_clock


@click.command(name="plan")
@output.form_option(default=Format.TABLE)
@settings_options
@ec2_options
@connection.target_options
def command(target: Target, settings: BootImageSettings, form: Format, clouds: CloudAccess) -> None:
    """Show what the controller would do, and change nothing.

    Of a machine set that is not enrolled, it also shows what would happen if it were.

    It reads the Secrets with the Ignition stubs of machine sets. You need the right to get them.
    """
    running.run(_plan(target, settings, form, clouds))


async def _plan(
    target: Target,
    settings: BootImageSettings,
    form: Format,
    clouds: CloudAccess | None = None,
) -> None:
    clock = system_clock()
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    async with target.open() as client:
        for one in await commands.served(client):
            observed = await commands.observed(client, one, settings, clock, clouds)
            given = ReconcileInput.of(observed, settings, clock.now())
            rows += planned(given)
            notes += given.release.messages()
    click.echo(rendered(rows, form), nl=False)
    for note in dict.fromkeys(notes):
        output.sentence(f"Release: {note}", err=True)


def planned(given: ReconcileInput) -> Iterator[dict[str, Any]]:
    """A row for each machine set; one that is not enrolled has another row in it."""
    enrolled = plan.decide_all(replace(given, enrolment=rules.EVERY_MACHINE_SET))
    for decision, other in zip(plan.decide_all(given), enrolled, strict=True):
        if decision.verdict.state is MachineSetState.NOT_ENROLLED:
            yield {**row(decision), "ifEnrolled": row(other)}
        else:
            yield row(decision)


def row(decision: MachineSetDecision) -> dict[str, Any]:
    verdict = decision.verdict
    return {
        "name": verdict.machine_set.metadata.name,
        "namespace": verdict.machine_set.metadata.namespace,
        "state": verdict.state,
        "reason": verdict.why,
        "image": verdict.present.reference if verdict.present else "",
        "target": verdict.target,
        "secret": verdict.secret,
        "newSecret": decision.secret if decision.secret != verdict.secret else "",
        "message": verdict.message,
    }


def rendered(rows: list[dict[str, Any]], form: Format) -> str:
    if form is not Format.TABLE:
        return output.document(rows, form)
    if not rows:
        return "No machine set. Check --cluster-api-namespace.\n"
    lines: list[str] = []
    for one in rows:
        lines += _lines(one, one["name"], indent="  ")
        if "ifEnrolled" in one:
            lines += _lines(one["ifEnrolled"], "  if enrolled", indent="    ")
    return "\n".join(lines) + "\n"


def _lines(one: dict[str, Any], about: str, *, indent: str) -> Iterator[str]:
    yield f"{about}: {one['state']} ({one['reason']})"
    yield f"{indent}{texts.bounded_text(one['message'])}"
    if one["newSecret"]:
        yield f"{indent}stub: Secret {one['secret']} becomes {one['newSecret']}"
