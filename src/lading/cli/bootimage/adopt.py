"""`lading bootimage adopt`: Lading may change an image that another manager once applied."""

from collections.abc import Iterable

import click

from lading.api.machine import MachineSet
from lading.boot_images import commands, machine_specs
from lading.boot_images.commands import ServedMachineApi
from lading.cli import connection, running
from lading.cli.bootimage import machine_set
from lading.cli.connection import Target
from lading.cli.error_messages import RefusedByGuard
from lading.ports.kube import Kube, PatchType


@click.command(name="adopt")
@click.argument("name", metavar="[KIND/]NAME")
@connection.target_options
def command(target: Target, name: str) -> None:
    """Let Lading change a boot image that `kubectl apply --server-side` set once.

    Nothing of the machine set changes but its managed fields. A tool that applies the machine set
    again takes the image back.
    """
    running.run(_adopt(target, name))


async def _adopt(target: Target, name: str) -> None:
    async with target.open() as client:
        history = machine_set.meant(
            name, await commands.histories(client), namespace=target.namespace
        )
        served, one = await machine_set.read(client, history)
        managers = await commands.appliers(client, served, one)
        if not managers:
            raise RefusedByGuard(f"no manager applies the boot image of machine set {name}")
        await release(client, served, one, managers)
    names = ", ".join(sorted(set(managers.values())))
    click.echo(f"Lading may change the boot image of {name} now; {names} applied it before.")


async def release(
    client: Kube, served: ServedMachineApi, one: MachineSet, indexes: Iterable[int]
) -> None:
    """Each manager keeps its fields, as one that updated them and does not apply them."""
    operations = [machine_specs.guard(one)]
    for index in indexes:
        path = ("metadata", "managedFields", index, "operation")
        operations.append(machine_specs.operation(path, "Update"))
    await client.patch(
        served.resource,
        one.metadata.name,
        operations,
        namespace=one.metadata.namespace,
        patch_type=PatchType.JSON,
        field_manager=machine_set.FIELD_MANAGER,
    )
