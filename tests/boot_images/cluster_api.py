"""Cluster API objects in a cluster in memory, with defaults: what a test writes matters to it."""

from typing import Any

from lading.api.cluster_api import (
    CLUSTER_MACHINE_SETS,
    CLUSTER_MACHINES,
    MACHINE_DEPLOYMENTS,
    MachineTemplate,
    infrastructure_machines,
    machine_templates,
)
from lading.api.core import SECRETS
from lading.api.machineconfiguration.boot_image_history import (
    MACHINE_SET_BOOT_IMAGE_HISTORIES,
    MachineSetBootImageHistory,
)
from lading.boot_images import history
from lading.boot_images.machines import CLONED_FROM_KIND, CLONED_FROM_NAME
from lading.boot_images.platforms.types import Api
from lading.kernel.objects import Key
from lading.ports import kube
from lading.ports.kube import Selection
from tests.boot_images.clusters import BootCluster
from tests.boot_images.ignition.stubs import spec_2
from tests.boot_images.streams import GCP_IMAGE, GCP_IMAGE_OLD
from tests.boot_images.worlds import CLUSTER_NAMESPACE, INFRA, NAMESPACE, secret

TEMPLATES = machine_templates("GCPMachineTemplate", "v1beta1")
GCP_MACHINES = infrastructure_machines("GCPMachine", "v1beta1")
MACHINE = {"image": GCP_IMAGE_OLD, "instanceType": "n1"}


def spec(template: str = "template-a", cluster: str = INFRA) -> dict[str, Any]:
    """Of a machine set or a deployment."""
    reference = {"apiGroup": TEMPLATES.group, "kind": TEMPLATES.kind, "name": template}
    bootstrap = {"dataSecretName": "worker-user-data"}
    machine = {"bootstrap": bootstrap, "infrastructureRef": reference}
    return {"clusterName": cluster, "template": {"spec": machine}}


async def usual(cluster: BootCluster, *names: str) -> None:
    """A cluster that completed its update, with machine sets that share template and stub."""
    await cluster.complete()
    await cluster.make_node()
    await cluster.make_golden()
    data = {"value": secret(spec_2(), key="value").data["value"], "format": "aWduaXRpb24="}
    await cluster.create(SECRETS, "worker-user-data", CLUSTER_NAMESPACE, data=data)
    await cluster.create(
        TEMPLATES, "template-a", CLUSTER_NAMESPACE, spec={"template": {"spec": MACHINE}}
    )
    for name in names or ("worker-a",):
        await cluster.create(CLUSTER_MACHINE_SETS, name, CLUSTER_NAMESPACE, spec=spec())
    await cluster.enrol()


async def make_deployment(cluster: BootCluster, template: str) -> None:
    await cluster.create(MACHINE_DEPLOYMENTS, "deployed", CLUSTER_NAMESPACE, spec=spec(template))


async def make_machine(
    cluster: BootCluster,
    name: str = "machine-a",
    *,
    template: str = "template-a",
    image: str = GCP_IMAGE,
    node: str = "",
    of_cluster: str = INFRA,
) -> None:
    """As Cluster API makes one: a machine of the platform, and the Machine that names it."""
    annotations = {
        CLONED_FROM_NAME: template,
        CLONED_FROM_KIND: f"{TEMPLATES.kind}.{TEMPLATES.group}",
    }
    await cluster.create(
        GCP_MACHINES,
        name,
        CLUSTER_NAMESPACE,
        spec={**MACHINE, "image": image},
        metadata={"annotations": annotations},
    )
    reference = {"apiGroup": GCP_MACHINES.group, "kind": GCP_MACHINES.kind, "name": name}
    machine = {"clusterName": of_cluster, "infrastructureRef": reference}
    await cluster.create(CLUSTER_MACHINES, name, CLUSTER_NAMESPACE, spec=machine)
    status = {"nodeRef": {"name": node}} if node else {}
    await cluster.kube.patch(
        CLUSTER_MACHINES,
        name,
        {"status": status},
        namespace=CLUSTER_NAMESPACE,
        subresource="status",
    )


async def template_of(cluster: BootCluster, name: str = "worker-a") -> str:
    """The name of the template that the machine set names."""
    found = await cluster.kube.get(CLUSTER_MACHINE_SETS, name, namespace=CLUSTER_NAMESPACE)
    return str(found.spec["template"]["spec"]["infrastructureRef"]["name"])


async def templates(cluster: BootCluster) -> dict[str, MachineTemplate]:
    page = await cluster.kube.page(TEMPLATES, Selection(namespace=CLUSTER_NAMESPACE))
    return {one.metadata.name: one for one in page.items}


async def point_back(cluster: BootCluster, name: str = "worker-a") -> None:
    """A person pauses the updates of the set and names its first template again."""
    patch = {
        "metadata": {"annotations": {"lading.dev/boot-image-updates": "paused"}},
        "spec": {"template": {"spec": {"infrastructureRef": {"name": "template-a"}}}},
    }
    await cluster.kube.patch(CLUSTER_MACHINE_SETS, name, patch, namespace=CLUSTER_NAMESPACE)


async def history_of(
    cluster: BootCluster, name: str = "worker-a"
) -> MachineSetBootImageHistory | None:
    key = history.name_of(Api.CLUSTER, Key(CLUSTER_NAMESPACE, name))
    try:
        return await cluster.kube.get(MACHINE_SET_BOOT_IMAGE_HISTORIES, key, namespace=NAMESPACE)
    except kube.NotFound:
        return None


async def until_state(
    cluster: BootCluster, state: str, name: str = "worker-a", reason: str = ""
) -> None:
    async def is_so() -> bool:
        found = await history_of(cluster, name)
        status = found.status if found else None
        return status is not None and status.state == state and reason in status.reason

    await cluster.until(is_so, f"{name} is {state}")
