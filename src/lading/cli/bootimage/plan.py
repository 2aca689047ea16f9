"""`lading bootimage plan`: what the controller would do, decided by the controller's own rules."""

from pathlib import Path

import click

from lading.boot_images import plan, preview
from lading.boot_images.decide import MachineSetDecision, Pass
from lading.boot_images.types import BootImageSettings
from lading.cli import connection, output, running
from lading.cli.bootimage.settings import aws_credentials_option, settings_options
from lading.cli.connection import Target
from lading.cli.output import Format
from lading.kernel import texts
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
    rows: list[dict[str, str]] = []
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
            rows += [row(each) for each in plan.decide_all(one_pass)]
    click.echo(rendered(rows, form), nl=False)
    for note in dict.fromkeys(notes):
        output.sentence(f"Release: {note}", err=True)


def row(decision: MachineSetDecision) -> dict[str, str]:
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


def rendered(rows: list[dict[str, str]], form: Format) -> str:
    if form is not Format.TABLE:
        return output.document(rows, form)
    if not rows:
        return "No machine set. Check --machine-namespace and --cluster-api-namespace.\n"
    lines = []
    for one in rows:
        lines.append(f"{one['name']}: {one['state']} ({one['reason']})")
        lines.append(f"  {texts.bounded_text(one['message'])}")
        if one["newSecret"]:
            lines.append(f"  stub: Secret {one['secret']} becomes {one['newSecret']}")
    return "\n".join(lines) + "\n"
