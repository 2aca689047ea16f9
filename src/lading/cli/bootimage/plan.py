"""`lading bootimage plan`: what the controller would do, decided by the controller's own rules."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from lading.boot_images import plan, preview, rules
from lading.boot_images.decide import MachineSetDecision, Pass
from lading.boot_images.types import BootImageSettings
from lading.boot_images.verdicts import MachineSetState
from lading.cli import connection, output, running
from lading.cli.bootimage.settings import aws_credentials_option, settings_options
from lading.cli.connection import Target
from lading.cli.output import Format
from lading.kernel import texts
from lading.kernel.values import replace
from lading.wiring import clouds
from lading.wiring.clock import system_clock


@click.command(name="plan")
@output.form_option(default=Format.TABLE)
@settings_options
@aws_credentials_option
@connection.target_options
def command(
    target: Target, settings: BootImageSettings, form: Format, aws_credentials_file: Path | None
) -> None:
    """Show what the controller would do, and change nothing.

    Of a machine set that is not enrolled, it also shows what would happen if it were.

    It reads the Secrets with the Ignition stubs of machine sets. You need the right to get them.
    """
    running.run(_plan(target, settings, form, aws_credentials_file))


async def _plan(
    target: Target,
    settings: BootImageSettings,
    form: Format,
    aws_credentials_file: Path | None = None,
) -> None:
    clock = system_clock()
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    async with (
        target.open() as client,
        clouds.open_clouds(clock, aws_credentials_file=aws_credentials_file) as access,
    ):
        for one in await preview.served(client):
            observed = await preview.observed(
                client, one, settings, clock, with_secrets=True, clouds=access
            )
            one_pass = Pass.of(observed, settings, clock.now())
            if one_pass.release.proof is not None:
                notes.append(one_pass.release.proof.message)
            rows += planned(one_pass)
    click.echo(rendered(rows, form), nl=False)
    for note in dict.fromkeys(notes):
        output.sentence(f"Release: {note}", err=True)


def planned(one_pass: Pass) -> Iterator[dict[str, Any]]:
    """A row for each machine set; one that is not enrolled has another row in it."""
    enrolled = plan.decide_all(replace(one_pass, enrolment=rules.EVERY_MACHINE_SET))
    for decision, other in zip(plan.decide_all(one_pass), enrolled, strict=True):
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
        return "No machine set. Check --machine-namespace and --cluster-api-namespace.\n"
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
