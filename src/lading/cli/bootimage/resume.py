"""`lading bootimage resume`: the controller may update a machine set again."""

import click

from lading.api.machineconfiguration.boot_image_history import MACHINE_SET_BOOT_IMAGE_HISTORIES
from lading.boot_images import commands, machine_specs
from lading.boot_images.types import PAUSE_ANNOTATION
from lading.cli import connection, running
from lading.cli.bootimage import machine_set
from lading.cli.connection import Target
from lading.kernel import conditions
from lading.ports.kube import PatchType
from lading.wiring.clock import system_clock


@click.command(name="resume")
@click.argument("name", metavar="[KIND/]NAME")
@connection.target_options
def command(target: Target, name: str) -> None:
    """Let the controller update a machine set again.

    Use it after a restore, or after another program changed the boot image too.
    """
    running.run(_resume(target, name))


async def _resume(target: Target, name: str) -> None:
    async with target.open() as client:
        history = machine_set.meant(
            name, await commands.histories(client), namespace=target.namespace
        )
        await client.patch(
            MACHINE_SET_BOOT_IMAGE_HISTORIES,
            history.metadata.name,
            {"spec": {"resumedTime": conditions.micro_timestamp(system_clock().now())}},
            namespace=history.metadata.namespace,
            field_manager=machine_set.FIELD_MANAGER,
        )
        served, one = await machine_set.read(client, history)
        if PAUSE_ANNOTATION in one.metadata.annotations:
            kept = {**one.metadata.annotations}
            del kept[PAUSE_ANNOTATION]
            operations = [
                machine_specs.guard(one),
                machine_specs.operation(("metadata", "annotations"), kept),
            ]
            await client.patch(
                served.resource,
                one.metadata.name,
                operations,
                namespace=one.metadata.namespace,
                patch_type=PatchType.JSON,
                field_manager=machine_set.FIELD_MANAGER,
            )
    click.echo(f"Updates of machine set {history.spec.machine_set_name} are resumed.")
