"""A Cluster API that serves v1beta1 only: its sets, deployments and machines are all seen."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from lading.adapters.clock import SystemClock
from lading.api import cluster_api as cluster_api_kinds
from lading.api.cluster_api import (
    CLUSTER_MACHINE_SETS,
    CLUSTER_MACHINES,
    GROUP,
    MACHINE_DEPLOYMENTS,
    TEMPLATE_GROUP,
)
from lading.api.core import SECRETS
from lading.boot_images import apply, commands, machines
from lading.boot_images.platforms.types import Api
from lading.boot_images.templates import UNUSED_ANNOTATION
from lading.boot_images.types import BootImageSettings
from lading.kernel.values import replace
from lading.ports import kube
from lading.ports.kube import Selection
from tests.boot_images import cluster_api
from tests.boot_images.clusters import BootCluster, install_older_kinds, opened, running
from tests.boot_images.ignition.stubs import spec_2
from tests.boot_images.streams import GCP_IMAGE, GCP_IMAGE_OLD
from tests.boot_images.worlds import CLUSTER_NAMESPACE, INFRA, secret

CLUSTERS = replace(cluster_api_kinds.CLUSTERS, version="v1beta1")
SETS = replace(CLUSTER_MACHINE_SETS, version="v1beta1")
DEPLOYMENTS = replace(MACHINE_DEPLOYMENTS, version="v1beta1")
MACHINES = replace(CLUSTER_MACHINES, version="v1beta1")
SECOND = timedelta(seconds=1)
SOON = {"unused_templates_retention": SECOND, "templates_interval": SECOND}


def spec(template: str = "template-a") -> dict[str, Any]:
    """In v1beta1 a reference names its version and its namespace."""
    reference = {
        "apiVersion": f"{TEMPLATE_GROUP}/v1beta1",
        "kind": "GCPMachineTemplate",
        "name": template,
        "namespace": CLUSTER_NAMESPACE,
    }
    bootstrap = {"dataSecretName": "worker-user-data"}
    machine = {
        "clusterName": INFRA,
        "bootstrap": bootstrap,
        "infrastructureRef": reference,
        "failureDomain": "a",
    }
    return {"clusterName": INFRA, "replicas": 3, "template": {"spec": machine}}


@pytest.fixture
async def cluster() -> AsyncIterator[BootCluster]:
    async with opened(with_kinds=False) as one:
        await install_older_kinds(one.kube)
        await one.complete()
        await one.make_node()
        await one.make_golden()
        data = {"value": secret(spec_2(), key="value").data["value"], "format": "aWduaXRpb24="}
        await one.create(SECRETS, "worker-user-data", CLUSTER_NAMESPACE, data=data)
        template = {"template": {"spec": cluster_api.MACHINE}}
        await one.create(cluster_api.TEMPLATES, "template-a", CLUSTER_NAMESPACE, spec=template)
        made = await one.create(CLUSTERS, INFRA, CLUSTER_NAMESPACE)
        reference = {"name": INFRA, "uid": made.metadata.uid}
        owner = {"apiVersion": f"{GROUP}/v1beta1", "kind": "Cluster", **reference}
        metadata = {"ownerReferences": [owner]}
        await one.create(SETS, "worker-a", CLUSTER_NAMESPACE, spec=spec(), metadata=metadata)
        await one.enrol()
        yield one


async def test_a_set_is_updated_and_only_its_template_and_stub_change(cluster: BootCluster) -> None:
    with pytest.raises(kube.NotFound):
        await cluster.kube.page(CLUSTER_MACHINE_SETS, Selection(namespace=CLUSTER_NAMESPACE))
    async with running(cluster):
        await cluster_api.until_state(cluster, "Current")
    found = await cluster.kube.get(SETS, "worker-a", namespace=CLUSTER_NAMESPACE)
    clone = found.spec["template"]["spec"]["infrastructureRef"]["name"]
    expected = spec(clone)
    expected["template"]["spec"]["bootstrap"]["dataSecretName"] += "-spec-3-managed"
    assert clone != "template-a"
    assert found.spec == expected
    templates = await cluster_api.templates(cluster)
    assert templates[clone].spec["template"]["spec"]["image"] == GCP_IMAGE


async def test_a_clone_stays_while_an_older_deployment_needs_it(cluster: BootCluster) -> None:
    async with running(cluster):
        await cluster_api.until_state(cluster, "Current")
    found = await cluster.kube.get(SETS, "worker-a", namespace=CLUSTER_NAMESPACE)
    clone = found.spec["template"]["spec"]["infrastructureRef"]["name"]
    await cluster.create(DEPLOYMENTS, "deployed", CLUSTER_NAMESPACE, spec=spec(clone))
    await cluster.kube.delete(SETS, "worker-a", namespace=CLUSTER_NAMESPACE)
    settings = BootImageSettings()
    used = await machines.templates_in_use(cluster.kube, settings, ["GCPMachineTemplate"])
    assert used is not None
    assert ("GCPMachineTemplate", CLUSTER_NAMESPACE, clone) in used
    await cluster.kube.delete(DEPLOYMENTS, "deployed", namespace=CLUSTER_NAMESPACE)

    async def is_gone() -> bool:
        return set(await cluster_api.templates(cluster)) == {"template-a"}

    async with running(cluster, settings=SOON):
        await cluster.until(is_gone, "the clone is removed")
    (source,) = (await cluster_api.templates(cluster)).values()
    assert UNUSED_ANNOTATION not in source.metadata.annotations


async def test_what_a_person_sees_and_restores(cluster: BootCluster) -> None:
    async with running(cluster):
        await cluster_api.until_state(cluster, "Current")
    client, settings = cluster.kube, BootImageSettings()
    served = {one.api: one for one in await commands.served(client)}
    assert served[Api.CLUSTER].resource == SETS
    seen = await commands.observed(client, served[Api.CLUSTER], settings, SystemClock())
    assert [one.metadata.name for one in seen.machine_sets] == ["worker-a"]
    history = await cluster_api.history_of(cluster)
    assert history is not None
    for action in await commands.restore_actions(
        client, served[Api.CLUSTER], seen.machine_sets[0], history.spec.details[0]
    ):
        await apply.apply(action, client, SETS, field_manager="test")
    found = await client.get(SETS, "worker-a", namespace=CLUSTER_NAMESPACE)
    machine = found.spec["template"]["spec"]
    templates = await cluster_api.templates(cluster)
    restored = templates[machine["infrastructureRef"]["name"]]
    assert restored.spec["template"]["spec"]["image"] == GCP_IMAGE_OLD
    assert machine["bootstrap"] == {"dataSecretName": "worker-user-data"}


async def test_machines_are_counted_by_their_image(cluster: BootCluster) -> None:
    reference = {
        "apiVersion": f"{TEMPLATE_GROUP}/v1beta1",
        "kind": "GCPMachine",
        "name": "machine-a",
    }
    machine = {**cluster_api.MACHINE, "image": GCP_IMAGE}
    await cluster.create(cluster_api.GCP_MACHINES, "machine-a", CLUSTER_NAMESPACE, spec=machine)
    spec_of_machine = {"clusterName": INFRA, "infrastructureRef": reference}
    await cluster.create(MACHINES, "machine-a", CLUSTER_NAMESPACE, spec=spec_of_machine)
    assert await commands.machine_images(cluster.kube, BootImageSettings()) == {GCP_IMAGE: 1}
