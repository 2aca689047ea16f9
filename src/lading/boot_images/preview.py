"""What `lading bootimage` reads and writes with the rights of the person who runs it."""

from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from typing import TypeVar

import msgspec

from lading.api import cluster_api
from lading.api.cluster_api import CLUSTER_MACHINE_SETS
from lading.api.core import CONFIG_MAPS, NODES, ConfigMap
from lading.api.machine import (
    CONTROL_PLANE_MACHINE_SETS,
    MACHINE_SETS,
    MachineSet,
)
from lading.api.machineconfiguration.boot_image_history import (
    MACHINE_SET_BOOT_IMAGE_HISTORIES,
    MachineSetBootImageHistory,
)
from lading.api.openshift_config import CLUSTER_VERSIONS, INFRASTRUCTURES
from lading.api.operator import MACHINE_CONFIGURATIONS
from lading.boot_images import amis, machines, observe, rules, stream
from lading.boot_images.machine_specs import value_at
from lading.boot_images.platforms.types import Api
from lading.boot_images.types import BootImageSettings, CloudAccess, ObservedMachineSets
from lading.kernel.objects import Resource
from lading.kernel.values import replace
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.kube import EVERYTHING, Kube, Selection

T = TypeVar("T")
_CONTROL_PLANE_SPEC = (
    "spec",
    "template",
    "machines_v1beta1_machine_openshift_io",
    "spec",
    "providerSpec",
    "value",
)
_RESOURCES: Mapping[Api, Resource[MachineSet]] = {
    Api.MACHINE: MACHINE_SETS,
    Api.CLUSTER: CLUSTER_MACHINE_SETS,
}


class ServedMachineApi(msgspec.Struct, frozen=True, kw_only=True):
    """An API with machine sets, in the version that the cluster serves."""

    api: Api
    resource: Resource[MachineSet]


async def served(client: Kube) -> tuple[ServedMachineApi, ...]:
    """Those of the two that the cluster has."""
    found = []
    for api, resource in _RESOURCES.items():
        versions = cluster_api.VERSIONS if api is Api.CLUSTER else (resource.version,)
        for version in versions:
            candidate = replace(resource, version=version)
            try:
                await client.page(candidate, limit=1)
            except kube.NotFound:
                continue
            found.append(ServedMachineApi(api=api, resource=candidate))
            break
    return tuple(found)


async def observed(
    client: Kube,
    one: ServedMachineApi,
    settings: BootImageSettings,
    clock: Clock,
    *,
    with_secrets: bool,
    clouds: CloudAccess | None = None,
) -> ObservedMachineSets:
    """What the controller observes, read once."""
    machine_sets = [
        each
        for namespace in settings.namespaces(one.api)
        for each in await _everything(client, one.resource, Selection(namespace=namespace))
    ]
    is_cluster = one.api is Api.CLUSTER
    templates = await observe.templates(client, machine_sets) if is_cluster else {}
    infrastructure = await observe.get_or_none(client, INFRASTRUCTURES, "cluster")
    name = settings.cluster_name or rules.name_of(infrastructure)
    made = await machines.made(client, settings, cluster_name=name)
    reader = observe.SecretReader(client, clock, timedelta())
    wanted = observe.secrets_wanted(one.api, machine_sets, templates) if with_secrets else set()
    found = ObservedMachineSets(
        api=one.api,
        machine_sets=tuple(machine_sets),
        other_machine_sets=await observe.authorities(client, settings) if is_cluster else {},
        templates=templates,
        histories=await histories(client),
        configurations=tuple(await _everything(client, MACHINE_CONFIGURATIONS, EVERYTHING)),
        golden=await golden(client, settings),
        authority=await _config_map(client, settings, observe.AUTHORITY_NAME),
        cluster_version=await observe.get_or_none(client, CLUSTER_VERSIONS, "version"),
        infrastructure=infrastructure,
        nodes=tuple(await _everything(client, NODES, EVERYTHING)),
        machine_images={each.node: each.image for each in made if each.node},
        secrets=await reader.read(wanted),
    )
    asked = amis.AmiReader((clouds or CloudAccess()).ec2, clock, timedelta())
    region = rules.region(found)
    return replace(
        found,
        amis=await asked.read(amis.wanted(one.api, machine_sets, templates, region=region)),
    )


async def histories(client: Kube) -> tuple[MachineSetBootImageHistory, ...]:
    return tuple(await _everything(client, MACHINE_SET_BOOT_IMAGE_HISTORIES, EVERYTHING))


async def golden(client: Kube, settings: BootImageSettings) -> ConfigMap | None:
    return await _config_map(client, settings, stream.NAME)


async def machine_images(client: Kube, settings: BootImageSettings) -> dict[str, int]:
    """How many machines of either API were made from each boot image, as far as is known."""
    infrastructure = await observe.get_or_none(client, INFRASTRUCTURES, "cluster")
    name = settings.cluster_name or rules.name_of(infrastructure)
    return Counter(one.image for one in await machines.made(client, settings, cluster_name=name))


async def control_planes(client: Kube, settings: BootImageSettings) -> list[tuple[str, str]]:
    """Name and boot image of each ControlPlaneMachineSet, which is reported and never patched."""
    return [
        (one.metadata.name, machines.image_in(value_at({"spec": one.spec}, _CONTROL_PLANE_SPEC)))
        for namespace in settings.machine_namespaces
        for one in await _everything(
            client, CONTROL_PLANE_MACHINE_SETS, Selection(namespace=namespace)
        )
    ]


async def _config_map(client: Kube, settings: BootImageSettings, name: str) -> ConfigMap | None:
    try:
        return await client.get(CONFIG_MAPS, name, namespace=settings.golden_namespace)
    except kube.NotFound:
        return None


async def _everything(client: Kube, resource: Resource[T], selection: Selection) -> list[T]:
    """Nothing where the kind does not exist."""
    try:
        return await machines.everything(client, resource, selection)
    except kube.NotFound:
        return []
