"""Reads the machines of both APIs: their boot images, and the templates that they need.

Writes nothing. A kind that does not exist has no machines. A kind that may not be read is unknown.
"""

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from lading.api import cluster_api
from lading.api.cluster_api import (
    CLUSTER_MACHINE_SETS,
    CLUSTER_MACHINES,
    MACHINE_DEPLOYMENTS,
    TemplateKey,
    infrastructure_machines,
)
from lading.api.machine import MACHINES, Machine
from lading.boot_images import platforms, templates
from lading.boot_images.platforms.types import Api, CurrentImage, value_at
from lading.boot_images.types import BootImageSettings
from lading.boot_images.verdicts import NotUpdated
from lading.kernel.objects import Resource
from lading.kernel.values import replace
from lading.ports import kube
from lading.ports.kube import Kube, Selection

INFRASTRUCTURE_VERSIONS = ("v1beta2", "v1beta1")
CLONED_FROM_NAME = "cluster.x-k8s.io/cloned-from-name"
CLONED_FROM_KIND = "cluster.x-k8s.io/cloned-from-groupkind"
T = TypeVar("T")


class MadeMachine(msgspec.Struct, frozen=True, kw_only=True):
    node: str
    """Empty while it has none."""
    image: str
    """The boot image that it was made from, in one line."""


async def everything(api: Kube, resource: Resource[T], selection: Selection) -> list[T]:
    """All pages of one list."""
    page = await api.page(resource, selection)
    found = list(page.items)
    while page.continue_token:
        page = await api.page(resource, selection, continue_token=page.continue_token)
        found += page.items
    return found


async def made(api: Kube, settings: BootImageSettings, *, cluster_name: str) -> list[MadeMachine]:
    """The machines of the cluster with a readable image, as far as Lading may list them."""
    found: list[MadeMachine] = []
    for read in (_of_machine_api(api, settings), _of_cluster_api(api, settings, cluster_name)):
        try:
            found += await read
        except kube.Forbidden:
            continue
    return [one for one in found if one.image]


async def templates_in_use(
    api: Kube, settings: BootImageSettings, kinds: Iterable[str]
) -> frozenset[TemplateKey] | None:
    """The templates that are named; of machines only those of these kinds. None if unknown."""
    found: set[TemplateKey] = set()
    wanted = sorted({one.removesuffix("Template") for one in kinds})
    try:
        for namespace in settings.cluster_api_namespaces:
            for resource in (CLUSTER_MACHINE_SETS, MACHINE_DEPLOYMENTS):
                for one in await _of_cluster(api, resource, namespace):
                    found.add(templates.reference_of(one))
            for kind in wanted:
                for machine in await _of_infrastructure(api, kind, namespace):
                    found.add(_cloned_from(machine))
    except kube.Forbidden:
        return None
    return frozenset(found)


def image_in(value: Any) -> str:
    """The boot image of a provider spec; empty if it cannot be read."""
    kind = value.get("kind") if isinstance(value, dict) else None
    platform = platforms.BY_PROVIDER_SPEC.get(kind) if isinstance(kind, str) else None
    return _reference(platform.present(Api.MACHINE, value)) if platform else ""


def _reference(found: CurrentImage | NotUpdated) -> str:
    return found.image.reference if isinstance(found, CurrentImage) else ""


async def _of_machine_api(api: Kube, settings: BootImageSettings) -> list[MadeMachine]:
    found: list[MadeMachine] = []
    for namespace in settings.machine_namespaces:
        for one in await _listed(api, MACHINES, (MACHINES.version,), namespace):
            value = value_at(one.spec, ("providerSpec", "value"))
            found.append(MadeMachine(node=_node_of(one), image=image_in(value)))
    return found


async def _of_cluster_api(
    api: Kube, settings: BootImageSettings, cluster_name: str
) -> list[MadeMachine]:
    """A management cluster also has machines of other clusters. They do not count."""
    found: list[MadeMachine] = []
    for namespace in settings.cluster_api_namespaces if cluster_name else ():
        machines = [
            one
            for one in await _of_cluster(api, CLUSTER_MACHINES, namespace)
            if value_at(one.spec, ("clusterName",)) == cluster_name
        ]
        kinds = sorted({_infrastructure_of(one)[0] for one in machines} & set(platforms.BY_MACHINE))
        images = {
            (kind, one.metadata.name): _image_of(kind, one.spec)
            for kind in kinds
            for one in await _of_infrastructure(api, kind, namespace)
        }
        found += (
            MadeMachine(node=_node_of(one), image=images.get(_infrastructure_of(one), ""))
            for one in machines
        )
    return found


async def _of_cluster(api: Kube, resource: Resource[T], namespace: str) -> list[T]:
    return await _listed(api, resource, cluster_api.VERSIONS, namespace)


async def _of_infrastructure(api: Kube, kind: str, namespace: str) -> list[Machine]:
    resource = infrastructure_machines(kind, INFRASTRUCTURE_VERSIONS[0])
    return await _listed(api, resource, INFRASTRUCTURE_VERSIONS, namespace)


async def _listed(
    api: Kube, resource: Resource[T], versions: Iterable[str], namespace: str
) -> list[T]:
    """The objects in the first version that is served; none if no version is."""
    for version in versions:
        try:
            return await everything(
                api, replace(resource, version=version), Selection(namespace=namespace)
            )
        except kube.NotFound:
            continue
    return []


async def get_served(api: Kube, resource: Resource[T], name: str, namespace: str) -> T | None:
    """The object in the first version that is served; None if it does not exist."""
    for version in cluster_api.VERSIONS:
        try:
            return await api.get(replace(resource, version=version), name, namespace=namespace)
        except kube.NotFound:
            continue
    return None


def _node_of(machine: Machine) -> str:
    found = value_at(machine.status, ("nodeRef", "name"))
    return found if isinstance(found, str) else ""


def _infrastructure_of(machine: Machine) -> tuple[str, str]:
    """Kind and name of the platform's machine."""
    reference = value_at(machine.spec, ("infrastructureRef",))
    found = reference if isinstance(reference, dict) else {}
    return str(found.get("kind")), str(found.get("name"))


def _image_of(kind: str, spec: Any) -> str:
    value = spec if isinstance(spec, dict) else {}
    return _reference(platforms.BY_MACHINE[kind].present(Api.CLUSTER, value))


def _cloned_from(machine: Machine) -> TemplateKey:
    """Cluster API annotates a machine of a platform with its template."""
    annotations = machine.metadata.annotations
    kind = annotations.get(CLONED_FROM_KIND, "").partition(".")[0]
    return kind, machine.metadata.namespace, annotations.get(CLONED_FROM_NAME, "")
