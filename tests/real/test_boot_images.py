"""Boot images on real components: Ignition's own validator, and a real API server with the kinds
of Cluster API and the rights and policies of `deploy/`."""

import json
import subprocess
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings

from lading.adapters.clock import SystemClock
from lading.adapters.kube import connect
from lading.adapters.kube.client import KubeClient
from lading.api import loose
from lading.api.cluster_api import CLUSTER_MACHINE_SETS, machine_templates
from lading.api.core import SECRETS
from lading.api.machine import MACHINE_SETS
from lading.api.openshift_config import INFRASTRUCTURES
from lading.api.operator import MACHINE_CONFIGURATIONS
from lading.boot_images import commands
from lading.boot_images.ignition import translate
from lading.boot_images.ignition.findings import Unreadable
from lading.boot_images.machine_specs import PROVIDER_SPEC, operation
from lading.boot_images.platforms.types import Api
from lading.boot_images.rules import ARCHITECTURE_ANNOTATION
from lading.boot_images.types import PAUSE_ANNOTATION, PAUSED
from lading.cli.bootimage import adopt
from lading.ports import kube
from lading.ports.kube import PatchType, Selection
from tests.boot_images import clusters
from tests.boot_images.clusters import BootCluster, Line
from tests.boot_images.ignition import drawn, odd
from tests.boot_images.ignition.stubs import spec_2
from tests.boot_images.streams import AMI, GCP_IMAGE, GCP_IMAGE_OLD
from tests.boot_images.worlds import (
    CLUSTER_NAMESPACE,
    INFRA,
    MACHINE_NAMESPACE,
    NAMESPACE,
    gcp_spec,
    secret,
)
from tests.deploy.manifests import AGENT_NAMESPACE, DEPLOY, SHARED
from tests.real import cluster_api_definitions
from tests.real.bed import api_server
from tests.real.bed.api_server import ApiServer
from tests.real.setup import binaries

GOLDEN = sorted((Path(__file__).parents[1] / "boot_images/ignition/golden").glob("*.input.json"))
COPY = "worker-user-data-spec-3-managed"
GENERATED = {"machinesets.cluster.x-k8s.io", "gcpmachinetemplates", "awsmachinetemplates"}


@pytest.mark.components("ignition")
@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: str(path.name))
def test_ignition_accepts_every_translation(path: Path) -> None:
    source = json.loads(path.read_text(encoding="utf-8"))
    assert_accepted(translate.translate(source).config)


@pytest.mark.components("ignition")
@pytest.mark.parametrize(
    "stub", [row[1] for row in odd.TRANSLATED], ids=[row[0] for row in odd.TRANSLATED]
)
def test_ignition_accepts_the_translation_of_an_odd_stub(stub: dict[str, Any]) -> None:
    assert_accepted(translate.translate(stub).config)


@pytest.mark.components("ignition")
@settings(max_examples=4000, deadline=None, suppress_health_check=list(HealthCheck))
@given(stub=drawn.STUBS)
def test_ignition_accepts_whatever_is_translated(stub: dict[str, Any]) -> None:
    try:
        config = translate.translate(stub).config
    except Unreadable:
        return
    assert_accepted(config)


def assert_accepted(config: Any) -> None:
    answer = subprocess.run(
        [binaries.built("ignition", "ignition-validate"), "-"],
        input=json.dumps(config),
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with api_server.api_server() as running:
        for module in cluster_api_definitions.MODULES:
            for path in module.paths():
                running.kubectl("apply", "--server-side", "-f", str(path))
        for manifest in loose.manifests():
            if not manifest["metadata"]["name"].startswith(tuple(GENERATED)):
                running.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(manifest))
        running.kubectl("apply", "--server-side", "-f", str(DEPLOY / "crds"))
        for name in (
            *(MACHINE_NAMESPACE, CLUSTER_NAMESPACE, clusters.GOLDEN_NAMESPACE),
            *(NAMESPACE, AGENT_NAMESPACE),
        ):
            running.kubectl("create", "namespace", name)
        for file in (
            *(SHARED / "base" / "rbac.yaml", SHARED / "boot-images" / "rbac.yaml"),
            SHARED / "base" / "controller-policy.yaml",
            SHARED / "boot-images-policy" / "policy.yaml",
            DEPLOY / "policies" / "boot-images-platform" / "policy.yaml",
        ):
            running.kubectl("apply", "--server-side", "-f", str(file))
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def admin(server: ApiServer) -> AsyncIterator[KubeClient]:
    connection = connect.find({}, file=server.kubeconfig_path)
    async with connect.connect(connection, SystemClock()) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def controller(server: ApiServer, tmp_path: Path) -> AsyncIterator[KubeClient]:
    """With the token of the controller's ServiceAccount, so with the rights of `deploy/`."""
    token = server.kubectl("create", "token", "lading-controller", f"--namespace={NAMESPACE}")
    file = server.write_kubeconfig(tmp_path / "controller", token.strip())
    async with connect.connect(connect.find({}, file=file), SystemClock()) as client:
        yield client


async def no_line(request: object) -> Any:
    raise AssertionError("the controller has a client of its own")


@pytest.mark.components("kube")
@pytest.mark.asyncio(loop_scope="session")
async def test_machine_sets_of_both_apis_are_updated_with_the_rights_of_deploy(
    admin: KubeClient, controller: KubeClient
) -> None:
    cluster = BootCluster(kube=admin, line=Line(no_line))
    await cluster.complete()
    status = {"platformStatus": {"type": "VSphere", "aws": {"region": "us-east-1"}}}
    await patch_platform(cluster, status)
    await cluster.until(lambda: is_enrolled(cluster, wanted=False), "the platform is refused")
    await patch_platform(cluster, {"platformStatus": {"type": "GCP"}})
    await cluster.make_node()
    await cluster.make_golden()
    await cluster.make_stub(spec_2())
    await cluster.make_set()
    await cluster.make_set("custom", gcp_spec("projects/mine/global/images/x"))
    await make_cluster_set(cluster, "gcp", "GCPMachineTemplate", "v1beta1", gcp_template())
    await make_cluster_set(cluster, "aws", "AWSMachineTemplate", "v1beta2", aws_template())
    await cluster.until(lambda: is_enrolled(cluster, wanted=True), "the platform is accepted")
    async with clusters.running(cluster, client=controller):
        await cluster.until_state("Current")
        await cluster.until_state("Skipped", "custom", "ImageNotOurs")
        assert await cluster.machine() == gcp_spec(GCP_IMAGE, userDataSecret={"name": COPY})
        await cluster.until(lambda: is_repointed(cluster, "gcp"), "the GCP set names a clone")
        await compete(cluster)
    await a_clone_that_nothing_needs_is_removed(cluster, controller)
    found = await cluster.history()
    assert found is not None
    assert "rival" in found.status.message
    with pytest.raises(kube.Forbidden):
        await controller.page(SECRETS)
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "other"}}
    with pytest.raises(kube.KubeError, match="only Secrets with a name that ends"):
        await controller.create(SECRETS, body, namespace=MACHINE_NAMESPACE)
    spec = {"managedBootImageConfig": {"mode": "MatchSelector", "matchSelector": {}}}
    with pytest.raises(kube.Invalid, match="must not be empty"):
        await admin.patch(MACHINE_CONFIGURATIONS, "default", {"spec": spec})
    await an_image_that_was_applied_once_is_adopted(cluster, controller)
    await sets_that_cannot_be_updated_are_named_and_recover(cluster, controller)


async def an_image_that_was_applied_once_is_adopted(
    cluster: BootCluster, controller: KubeClient
) -> None:
    spec = {"template": {"spec": {"providerSpec": {"value": gcp_spec()}}}}
    metadata = {"name": "applied", "namespace": MACHINE_NAMESPACE}
    body = {"apiVersion": MACHINE_SETS.api_version, "kind": MACHINE_SETS.kind}
    await cluster.kube.apply(
        MACHINE_SETS, {**body, "metadata": metadata, "spec": spec}, field_manager="kubectl"
    )
    async with clusters.running(cluster, client=controller):
        await cluster.until_state("Skipped", "applied", "FieldManagedByOther")
        found = await cluster.get_set("applied")
        served = commands.ServedMachineApi(api=Api.MACHINE, resource=MACHINE_SETS)
        indexes = await commands.appliers(cluster.kube, served, found)
        assert list(indexes.values()) == ["kubectl"]
        await adopt.release(cluster.kube, served, found, indexes)
        await cluster.until_state("Current", "applied")


async def is_enrolled(cluster: BootCluster, *, wanted: bool) -> bool:
    """Policies are compiled, and see the platform, some time after these are stored."""
    try:
        await cluster.enrol()
    except kube.KubeError as error:
        if "not yet synced" in str(error):  # the API server cannot read the platform yet
            return False
        assert "only on these platforms" in str(error)
        return not wanted
    if not wanted:
        await cluster.kube.delete(MACHINE_CONFIGURATIONS, "default")
    return wanted


async def sets_that_cannot_be_updated_are_named_and_recover(
    cluster: BootCluster, controller: KubeClient
) -> None:
    """The e2e list of OpenShift's operator."""
    admin = cluster.kube
    await make_broken_sets(cluster)
    partial = {"mode": "MatchSelector", "matchSelector": {"matchLabels": {"e2e": "yes"}}}
    await admin.patch(
        MACHINE_CONFIGURATIONS, "default", {"spec": {"managedBootImageConfig": partial}}
    )
    settings = {"secrets_interval": timedelta(seconds=1)}
    async with clusters.running(cluster, client=controller, settings=settings):
        await cluster.until_state("Current", "several-labels")
        await cluster.until_state("NotEnrolled", "not-selected")
        await cluster.until_state("Skipped", "owned", "OwnedByAnother")
        await cluster.until_state("Skipped", "wrong-architecture", "ArchitectureUnknown")
        await cluster.until_state("Failed", "no-stub", "StubMissing")
        await cluster.until_state("Failed", "not-json", "StubUnreadable")
        await cluster.until_state("Failed", "version-1", "StubUnreadable")
        for name in (*BROKEN, "not-selected"):
            assert await cluster.image(name) == GCP_IMAGE_OLD
        await cluster.make_stub(name="no-stub")
        await cluster.until_state("Current", "no-stub")
        await cluster.until_state("Failed", "not-json", "StubUnreadable")
        annotations = {"metadata": {"annotations": {ARCHITECTURE_ANNOTATION: None}}}
        await admin.patch(
            MACHINE_SETS, "wrong-architecture", annotations, namespace=MACHINE_NAMESPACE
        )
        await cluster.until_state("Current", "wrong-architecture")
        disabled = {"mode": "Disabled", "matchSelector": None}
        await admin.patch(
            MACHINE_CONFIGURATIONS, "default", {"spec": {"managedBootImageConfig": disabled}}
        )
        await cluster.until_state("NotEnrolled", "not-json")
    assert await cluster.image("several-labels") == GCP_IMAGE


BROKEN = ("owned", "wrong-architecture", "no-stub", "not-json", "version-1")


async def make_broken_sets(cluster: BootCluster) -> None:
    selected = {"e2e": "yes"}
    several = {ARCHITECTURE_ANNOTATION: "a=b, kubernetes.io/arch=amd64,c=d"}
    wrong = {ARCHITECTURE_ANNOTATION: "kubernetes.io/arch=nonsense"}
    owner = {"apiVersion": "v1", "kind": "Node", "name": "node-a", "uid": "u"}
    stubs: dict[str, Any] = {"not-json": b"not JSON", "version-1": {"ignitionVersion": 1}}
    for name, stub in stubs.items():
        await cluster.make_stub(stub, name=name)
    await cluster.make_set("several-labels", labels=selected, annotations=several)
    await cluster.make_set("not-selected")
    await cluster.make_set("owned", labels=selected, ownerReferences=[owner])
    await cluster.make_set("wrong-architecture", labels=selected, annotations=wrong)
    for name in ("no-stub", *stubs):
        value = gcp_spec(userDataSecret={"name": name})
        await cluster.make_set(name, value, labels=selected)


async def patch_platform(cluster: BootCluster, status: dict[str, Any]) -> None:
    await cluster.kube.patch(INFRASTRUCTURES, "cluster", {"status": status}, subresource="status")


async def compete(cluster: BootCluster) -> None:
    """Another writer puts its image back whenever it is changed, until we stop."""

    async def we_have_stopped() -> bool:
        if await cluster.image() != GCP_IMAGE_OLD:
            await cluster.kube.patch(
                MACHINE_SETS,
                "worker-a",
                [operation((*PROVIDER_SPEC, "disks", 0, "image"), GCP_IMAGE_OLD)],
                namespace=MACHINE_NAMESPACE,
                patch_type=PatchType.JSON,
                field_manager="rival",
            )
        found = await cluster.history()
        return found is not None and found.status.reason == "CompetingWriter"

    await cluster.until(we_have_stopped, "we stop after two reversals")


async def a_clone_that_nothing_needs_is_removed(
    cluster: BootCluster, controller: KubeClient
) -> None:
    """With the rights of `deploy/`, and under the policy that spares templates of others."""
    templates = machine_templates("GCPMachineTemplate", "v1beta1")
    patch = {
        "metadata": {"annotations": {PAUSE_ANNOTATION: PAUSED}},
        "spec": {"template": {"spec": {"infrastructureRef": {"name": "gcp"}}}},
    }
    await cluster.kube.patch(CLUSTER_MACHINE_SETS, "gcp", patch, namespace=CLUSTER_NAMESPACE)

    async def only_its_source_is_left() -> bool:
        page = await cluster.kube.page(templates, Selection(namespace=CLUSTER_NAMESPACE))
        return {one.metadata.name for one in page.items} == {"gcp"}

    second = timedelta(seconds=1)
    settings = {"unused_templates_retention": second, "templates_interval": second}
    async with clusters.running(cluster, client=controller, settings=settings):
        await cluster.until(only_its_source_is_left, "the clone is removed")
    with pytest.raises(kube.KubeError, match="only templates that it created"):
        await controller.delete(templates, "gcp", namespace=CLUSTER_NAMESPACE)


def gcp_template() -> dict[str, Any]:
    return {"image": GCP_IMAGE_OLD, "instanceType": "n1-standard-4"}


def aws_template() -> dict[str, Any]:
    return {"ami": {"id": AMI}, "instanceType": "m5.large"}


async def make_cluster_set(
    cluster: BootCluster, name: str, kind: str, version: str, machine: dict[str, Any]
) -> None:
    templates = machine_templates(kind, version)
    await cluster.create(templates, name, CLUSTER_NAMESPACE, spec={"template": {"spec": machine}})
    data = secret(spec_2(), key="value").data
    await cluster.create(SECRETS, f"{name}-user-data", CLUSTER_NAMESPACE, data=data)
    labels = {"matchLabels": {"set": name}}
    reference = {"apiGroup": templates.group, "kind": kind, "name": name}
    spec = {
        "clusterName": INFRA,
        "selector": labels,
        "template": {
            "metadata": {"labels": {"set": name}},
            "spec": {
                "clusterName": INFRA,
                "bootstrap": {"dataSecretName": f"{name}-user-data"},
                "infrastructureRef": reference,
            },
        },
    }
    await cluster.create(CLUSTER_MACHINE_SETS, name, CLUSTER_NAMESPACE, spec=spec)


async def is_repointed(cluster: BootCluster, name: str) -> bool:
    one = await cluster.kube.get(CLUSTER_MACHINE_SETS, name, namespace=CLUSTER_NAMESPACE)
    machine = one.spec["template"]["spec"]
    if machine["infrastructureRef"]["name"] == name:
        return False
    templates = machine_templates("GCPMachineTemplate", "v1beta1")
    clone = await cluster.kube.get(
        templates, machine["infrastructureRef"]["name"], namespace=CLUSTER_NAMESPACE
    )
    assert clone.spec["template"]["spec"]["image"] == GCP_IMAGE
    assert machine["bootstrap"]["dataSecretName"] == f"{name}-user-data-spec-3-managed"
    return True
