"""What `lading bootimage` reads and restores, with the rights of the person who runs it."""

from collections import Counter
from collections.abc import Mapping
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
    BootImageHistoryDetail,
    MachineSetBootImageHistory,
)
from lading.api.openshift_config import CLUSTER_VERSIONS, INFRASTRUCTURES
from lading.api.operator import MACHINE_CONFIGURATIONS
from lading.boot_images import machine_specs, machines, observe, rules, stream, templates
from lading.boot_images.observe import Observer
from lading.boot_images.platforms.types import Api, BootImage, value_at
from lading.boot_images.types import (
    PAUSE_ANNOTATION,
    PAUSED,
    BootImageSettings,
    CloneTemplate,
    CloudAccess,
    ObservedMachineSets,
    PatchMachineSet,
)
from lading.boot_images.verdicts import NotUpdated
from lading.kernel.objects import Resource
from lading.kernel.values import replace
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.kube import EVERYTHING, Kube, Selection

T = TypeVar("T")
_CONTROL_PLANE_SPEC = (
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
    """The APIs with machine sets that the cluster serves."""
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
    clouds: CloudAccess | None = None,
) -> ObservedMachineSets:
    """The facts that the controller observes, read once."""
    machine_sets = [
        each
        for namespace in settings.namespaces(one.api)
        for each in await _everything(client, one.resource, Selection(namespace=namespace))
    ]
    found = ObservedMachineSets(
        api=one.api,
        machine_sets=tuple(machine_sets),
        histories=await histories(client),
        configurations=tuple(await _everything(client, MACHINE_CONFIGURATIONS, EVERYTHING)),
        golden=await golden(client, settings),
        authority=await _config_map(client, settings, observe.AUTHORITY_NAME),
        cluster_version=await observe.get_or_none(client, CLUSTER_VERSIONS, "version"),
        infrastructure=await observe.get_or_none(client, INFRASTRUCTURES, "cluster"),
        nodes=tuple(await _everything(client, NODES, EVERYTHING)),
    )
    ec2 = clouds.ec2 if clouds is not None else None
    return await Observer(client, clock, settings, ec2, is_preview=True).complete(found)


async def histories(client: Kube) -> tuple[MachineSetBootImageHistory, ...]:
    return tuple(await _everything(client, MACHINE_SET_BOOT_IMAGE_HISTORIES, EVERYTHING))


async def golden(client: Kube, settings: BootImageSettings) -> ConfigMap | None:
    return await _config_map(client, settings, stream.NAME)


async def machine_images(client: Kube, settings: BootImageSettings) -> dict[str, int]:
    """The number of machines by boot image, as far as it is known."""
    infrastructure = await observe.get_or_none(client, INFRASTRUCTURES, "cluster")
    name = settings.cluster_name or rules.name_of(infrastructure)
    return Counter(one.image for one in await machines.made(client, settings, cluster_name=name))


async def control_planes(client: Kube, settings: BootImageSettings) -> list[tuple[str, str]]:
    """Name and boot image of each ControlPlaneMachineSet. They are shown and never patched."""
    return [
        (one.metadata.name, machines.image_in(value_at(one.spec, _CONTROL_PLANE_SPEC)))
        for namespace in settings.machine_namespaces
        for one in await _everything(
            client, CONTROL_PLANE_MACHINE_SETS, Selection(namespace=namespace)
        )
    ]


async def appliers(client: Kube, served: ServedMachineApi, one: MachineSet) -> dict[int, str]:
    """The other managers that apply the image, by the index of their entry."""
    known = await observe.read_templates(client, [one]) if served.api is Api.CLUSTER else {}
    machine = machine_specs.machine_spec(served.api, one, known)
    image = machine_specs.current_image(served.api, machine)
    if isinstance(machine, NotUpdated) or isinstance(image, NotUpdated):
        return {}
    return rules.appliers(one, machine_specs.image_path(machine, image))


class NotRestorable(Exception):
    """The machine set cannot be read, or cannot hold the image of the history."""


async def restore_actions(
    client: Kube, served: ServedMachineApi, one: MachineSet, detail: BootImageHistoryDetail
) -> tuple[CloneTemplate | PatchMachineSet, ...]:
    """One patch with the earlier image and stub, and a pause. Raises NotRestorable."""
    known = await observe.read_templates(client, [one]) if served.api is Api.CLUSTER else {}
    machine = machine_specs.machine_spec(served.api, one, known)
    if isinstance(machine, NotUpdated):
        raise NotRestorable(machine.message)
    present = machine.platform.present(served.api, machine.value)
    if isinstance(present, NotUpdated):
        raise NotRestorable(present.message)
    if present.field not in detail.boot_image:
        kept = ", ".join(detail.boot_image) or "nothing"
        raise NotRestorable(f"the history holds {kept}, but the machine set has {present.field}")
    value = detail.boot_image[present.field]
    return machine_specs.patch(
        one,
        machine,
        present,
        api=served.api,
        image=BootImage(reference=detail.boot_image_ref, value=value),
        secret=detail.stub_secret_ref or machine.secret,
        lane=one.key,
        template=known.get(templates.reference_of(one)),
        annotations={**one.metadata.annotations, PAUSE_ANNOTATION: PAUSED},
    )


async def _config_map(client: Kube, settings: BootImageSettings, name: str) -> ConfigMap | None:
    try:
        return await client.get(CONFIG_MAPS, name, namespace=settings.golden_namespace)
    except kube.NotFound:
        return None


async def _everything(client: Kube, resource: Resource[T], selection: Selection) -> list[T]:
    """An empty list if the kind does not exist."""
    try:
        return await machines.everything(client, resource, selection)
    except kube.NotFound:
        return []
