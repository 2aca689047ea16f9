"""Finds the machine set that the command line names, with its history."""

from collections.abc import Iterable

import click

from lading.api.machine import MachineSet
from lading.api.machineconfiguration.boot_image_history import MachineSetBootImageHistory
from lading.boot_images import commands
from lading.boot_images.commands import ServedMachineApi
from lading.boot_images.platforms.types import Api
from lading.kernel.objects import Key
from lading.ports import kube
from lading.ports.kube import Kube

KINDS = ("machineset", "machinesets")
FIELD_MANAGER = "lading-bootimage"


def meant(
    word: str, histories: Iterable[MachineSetBootImageHistory], *, namespace: str = ""
) -> MachineSetBootImageHistory:
    """`NAME`, `machineset/NAME`, or with the API group where both APIs have that name.

    `namespace` is that of the machine set; empty where the name alone is enough.
    """
    kind, slash, name = word.rpartition("/")
    plain, _, group = kind.partition(".")
    if slash and plain.lower() not in KINDS:
        raise click.UsageError(f"{kind!r} is not a kind of machine set; write machineset/{name}")
    found = [
        one
        for one in histories
        if one.spec.machine_set_name == name
        and one.spec.machine_set_api_group.startswith(group)
        and namespace in ("", one.spec.machine_set_namespace)
    ]
    if not found:
        raise click.ClickException(
            f"machine set {name!r} has no history; `lading bootimage status` lists those that have"
        )
    if len(found) > 1:
        places = " or ".join(
            f"machineset.{one.spec.machine_set_api_group}/{name} "
            f"--namespace={one.spec.machine_set_namespace}"
            for one in found
        )
        raise click.UsageError(f"there are several machine sets {name!r}; write {places}")
    return found[0]


async def read(
    client: Kube, history: MachineSetBootImageHistory
) -> tuple[ServedMachineApi, MachineSet]:
    """The machine set itself, in the version that is served."""
    spec = history.spec
    key = Key(spec.machine_set_namespace, spec.machine_set_name)
    for one in await commands.served(client):
        if one.api == Api(spec.machine_set_api_group):
            return one, await client.get(one.resource, key.name, namespace=key.namespace)
    raise kube.NotFound(f"the cluster does not serve machinesets.{spec.machine_set_api_group}")
