"""`lading bootimage` on an API server in memory: what it shows, refuses and restores."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import click
import pytest

from lading.adapters.kube.client import KubeClient
from lading.api.cluster_api import CLUSTER_MACHINE_SETS
from lading.api.core import CONFIG_MAPS
from lading.api.machine import CONTROL_PLANE_MACHINE_SETS, MACHINE_SETS, MACHINES, MachineSet
from lading.api.operator import MACHINE_CONFIGURATIONS
from lading.boot_images.controller import KEY
from lading.boot_images.templates import UNUSED_ANNOTATION
from lading.boot_images.types import PAUSE_ANNOTATION, PROOF_ANNOTATION, BootImageSettings
from lading.cli.bootimage import adopt, approve, history, plan, restore, resume, status
from lading.cli.connection import Target
from lading.cli.error_messages import RefusedByGuard
from lading.cli.output import Format
from lading.kernel.objects import Resource
from lading.ports import kube
from lading.ports.http import Request, Response
from tests.boot_images import cluster_api
from tests.boot_images.clusters import (
    GOLDEN_NAMESPACE,
    BootCluster,
    opened,
    reconciler_with_caches_of_now,
    running,
)
from tests.boot_images.ignition.stubs import spec_2
from tests.boot_images.streams import GCP_IMAGE, GCP_IMAGE_OLD
from tests.boot_images.worlds import CLUSTER_NAMESPACE, MACHINE_NAMESPACE, gcp_spec

COPY = "worker-user-data-spec-3-managed"


class InMemory(Target, frozen=True, kw_only=True):
    client: Any

    @asynccontextmanager
    async def open(self) -> AsyncIterator[KubeClient]:
        yield self.client


@pytest.fixture
async def cluster() -> AsyncIterator[BootCluster]:
    async with opened() as one:
        yield one


def target(cluster: BootCluster, namespace: str = "") -> Target:
    return InMemory(kubeconfig=None, context="", namespace=namespace, client=cluster.kube)


async def updated(cluster: BootCluster) -> None:
    await cluster.usual(stub=spec_2())
    async with running(cluster):
        await cluster.until_state("Current")


async def test_restore_shows_its_plan_and_changes_nothing_without_yes(
    cluster: BootCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    await updated(cluster)
    before = await cluster.get_set()
    await restore._restore(target(cluster), "worker-a", 0, False)
    assert await cluster.get_set() == before
    shown = capsys.readouterr().out
    assert f"the boot image changes from {GCP_IMAGE} to {GCP_IMAGE_OLD}" in shown
    assert "Nothing is changed yet" in shown


async def test_a_restored_set_stays_until_it_is_resumed(cluster: BootCluster) -> None:
    await updated(cluster)
    await restore._restore(target(cluster), "machineset/worker-a", 0, True)
    assert await cluster.machine() == gcp_spec()
    assert (await cluster.get_set()).metadata.annotations[PAUSE_ANNOTATION] == "paused"
    async with running(cluster):
        await cluster.until_state("Skipped", reason="Paused")
        assert await cluster.image() == GCP_IMAGE_OLD
        await resume._resume(target(cluster), "worker-a")
        await cluster.until_state("Current")
    found = await cluster.history()
    assert found is not None
    assert [one.boot_image_ref for one in found.spec.details] == [
        GCP_IMAGE_OLD,
        GCP_IMAGE,
        GCP_IMAGE_OLD,
        GCP_IMAGE,
    ]
    assert found.spec.resumed_time


async def test_history_and_status_show_images_and_machines(
    cluster: BootCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    await updated(cluster)
    for number in range(2):
        spec = {"providerSpec": {"value": gcp_spec()}}
        await cluster.create(MACHINES, f"machine-{number}", MACHINE_NAMESPACE, spec=spec)
    machine = {"spec": {"providerSpec": {"value": gcp_spec()}}}
    await cluster.create(
        CONTROL_PLANE_MACHINE_SETS,
        "cluster",
        MACHINE_NAMESPACE,
        spec={"template": {"machines_v1beta1_machine_openshift_io": machine}},
    )
    capsys.readouterr()
    await history._history(target(cluster), "worker-a", Format.TABLE)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["INDEX", "0", "1"]
    assert lines[2].endswith(COPY)
    await status._status(target(cluster), BootImageSettings(), Format.JSON)
    found = json.loads(capsys.readouterr().out)
    assert found["machinesByBootImage"] == {GCP_IMAGE_OLD: 2}
    states = {one["name"]: (one["state"], one["reason"]) for one in found["machineSets"]}
    assert states == {
        "worker-a": ("Current", "AsExpected"),
        "cluster": ("Skipped", "ControlPlane"),
    }
    await status._status(target(cluster), BootImageSettings(), Format.TABLE)
    assert all(len(line) <= 80 for line in capsys.readouterr().out.splitlines())


async def test_plan_decides_as_the_controller_would_and_writes_nothing(
    cluster: BootCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    await cluster.usual()
    await plan._plan(target(cluster), BootImageSettings(), Format.JSON)
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["state"], row["target"]) == ("Updating", GCP_IMAGE)
    assert await cluster.history() is None
    assert await cluster.image() == GCP_IMAGE_OLD


async def test_plan_shows_what_enrolling_a_machine_set_would_do(
    cluster: BootCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    await cluster.usual()
    await cluster.kube.delete(MACHINE_CONFIGURATIONS, "default")
    await plan._plan(target(cluster), BootImageSettings(), Format.JSON)
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["state"], row["target"]) == ("NotEnrolled", "")
    assert (row["ifEnrolled"]["state"], row["ifEnrolled"]["target"]) == ("Updating", GCP_IMAGE)
    await plan._plan(target(cluster), BootImageSettings(), Format.TABLE)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "worker-a: NotEnrolled (NotEnrolled)",
        "  no MachineConfiguration enrols machine sets",
        "  if enrolled: Updating (Updating)",
    ]
    assert lines[3].startswith("    the boot image changes from ")


async def test_plan_says_of_an_enrolled_machine_set_nothing_about_enrolment(
    cluster: BootCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    await cluster.usual()
    await plan._plan(target(cluster), BootImageSettings(), Format.TABLE)
    assert "if enrolled" not in capsys.readouterr().out


async def test_approve_proves_a_release_where_nothing_else_can(cluster: BootCluster) -> None:
    await cluster.make_golden()
    await cluster.make_stub()
    await cluster.make_node()
    await cluster.make_set()
    await cluster.enrol()
    with pytest.raises(RefusedByGuard, match=r"is for release 4.21.3, not 4.20.0"):
        await approve._approve(target(cluster), BootImageSettings(), "4.20.0")
    await approve._approve(target(cluster), BootImageSettings(), "4.21.3")
    async with running(cluster):
        await cluster.until_state("Current")
    found = await cluster.kube.get(CONFIG_MAPS, "coreos-bootimages", namespace=GOLDEN_NAMESPACE)
    assert "approve" in found.metadata.annotations[PROOF_ANNOTATION]


async def test_approve_is_refused_beside_a_cluster_version(cluster: BootCluster) -> None:
    await cluster.usual()
    with pytest.raises(RefusedByGuard) as caught:
        await approve._approve(target(cluster), BootImageSettings(), "4.21.3")
    assert caught.value.exit_code == 3


COMMANDS: dict[str, Callable[[Target], Awaitable[None]]] = {
    "restore": lambda one: restore._restore(one, "worker-a", 0, True),
    "resume": lambda one: resume._resume(one, "worker-a"),
    "approve": lambda one: approve._approve(one, BootImageSettings(), "4.21.3"),
}


@pytest.mark.parametrize("command", COMMANDS)
async def test_what_was_written_meanwhile_is_not_overwritten(
    cluster: BootCluster, command: str
) -> None:
    """Another writer is quicker: it writes between what the command reads and writes."""
    await cluster.make_golden()
    await cluster.make_stub()
    await cluster.make_node(**{"lading.dev/os-release": "4.21.3"})
    await cluster.make_set(annotations={PAUSE_ANNOTATION: "paused"} if command == "resume" else {})
    await cluster.enrol()
    reconciler = await reconciler_with_caches_of_now(cluster)
    await reconciler.reconcile(KEY)
    is_golden = command == "approve"
    resource: Resource[Any] = CONFIG_MAPS if is_golden else MACHINE_SETS
    name = "coreos-bootimages" if is_golden else "worker-a"
    namespace = GOLDEN_NAMESPACE if is_golden else MACHINE_NAMESPACE
    label = {"metadata": {"labels": {"quicker": "yes"}}}

    async def later(request: Request) -> Response:
        if request.method == "PATCH" and request.path.endswith(f"/{name}"):
            await cluster.kube.patch(resource, name, label, namespace=namespace)
        return await cluster.line(request)

    slow = InMemory(kubeconfig=None, context="", namespace="", client=KubeClient(later))
    before = await cluster.kube.get(resource, name, namespace=namespace)
    with pytest.raises(kube.Conflict):
        await COMMANDS[command](slow)
    after = await cluster.kube.get(resource, name, namespace=namespace)
    assert after.metadata.labels == {"quicker": "yes"}
    assert after.metadata.annotations == before.metadata.annotations
    assert not isinstance(after, MachineSet) or after.spec == before.spec


@pytest.mark.parametrize(
    ("word", "error"),
    [("nothing", click.ClickException), ("pod/worker-a", click.UsageError)],
)
async def test_a_name_that_means_no_machine_set(
    cluster: BootCluster, word: str, error: type[Exception]
) -> None:
    await updated(cluster)
    with pytest.raises(error):
        await history._history(target(cluster), word, Format.TABLE)


async def test_an_index_that_does_not_exist_names_those_that_do(cluster: BootCluster) -> None:
    await updated(cluster)
    with pytest.raises(click.ClickException, match="it has 0, 1"):
        await restore._restore(target(cluster), "worker-a", 7, True)


async def test_a_cluster_api_set_is_restored_with_a_template_that_is_cloned_anew(
    cluster: BootCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """The template that it had may be gone: the history holds the image, not the template."""
    await cluster_api.usual(cluster)
    async with running(cluster):
        await cluster_api.until_state(cluster, "Current")
    updated_to = await cluster_api.template_of(cluster)
    await cluster.kube.delete(cluster_api.TEMPLATES, "template-a", namespace=CLUSTER_NAMESPACE)
    await restore._restore(target(cluster), "worker-a", 0, True)
    restored_to = await cluster_api.template_of(cluster)
    found = await cluster_api.templates(cluster)
    assert set(found) == {updated_to, restored_to}
    assert found[restored_to].spec == {"template": {"spec": cluster_api.MACHINE}}
    one = await cluster.kube.get(CLUSTER_MACHINE_SETS, "worker-a", namespace=CLUSTER_NAMESPACE)
    assert one.spec["template"]["spec"]["bootstrap"] == {"dataSecretName": "worker-user-data"}
    assert one.metadata.annotations[PAUSE_ANNOTATION] == "paused"
    assert "clone the template" in capsys.readouterr().out


async def test_a_restore_keeps_an_unused_clone_that_it_names(cluster: BootCluster) -> None:
    await cluster_api.usual(cluster)
    async with running(cluster):
        await cluster_api.until_state(cluster, "Current")
    clone = await cluster_api.template_of(cluster)
    await cluster_api.point_back(cluster)
    mark = {"metadata": {"annotations": {UNUSED_ANNOTATION: "2020-01-01T00:00:00Z"}}}
    await cluster.kube.patch(cluster_api.TEMPLATES, clone, mark, namespace=CLUSTER_NAMESPACE)
    await restore._restore(target(cluster), "worker-a", 1, True)
    assert await cluster_api.template_of(cluster) == clone
    found = (await cluster_api.templates(cluster))[clone]
    assert UNUSED_ANNOTATION not in found.metadata.annotations


async def test_status_counts_the_machines_of_cluster_api_of_this_cluster_alone(
    cluster: BootCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    await cluster_api.usual(cluster)
    await cluster_api.make_machine(cluster, "one", image=GCP_IMAGE)
    await cluster_api.make_machine(cluster, "two", image=GCP_IMAGE_OLD)
    await cluster_api.make_machine(cluster, "three", image=GCP_IMAGE_OLD)
    await cluster_api.make_machine(cluster, "foreign", image=GCP_IMAGE, of_cluster="another")
    capsys.readouterr()
    await status._status(target(cluster), BootImageSettings(), Format.JSON)
    found = json.loads(capsys.readouterr().out)
    assert found["machinesByBootImage"] == {GCP_IMAGE: 1, GCP_IMAGE_OLD: 2}


async def test_a_name_in_both_apis_needs_its_kind_or_namespace(
    cluster: BootCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    await cluster_api.usual(cluster)
    await cluster.make_stub()
    await cluster.make_set()
    async with running(cluster):
        await cluster.until_state("Current")
        await cluster_api.until_state(cluster, "Current")
    with pytest.raises(click.UsageError, match=r"machineset.cluster.x-k8s.io/worker-a --namespace"):
        await history._history(target(cluster), "worker-a", Format.TABLE)
    capsys.readouterr()
    word = "machineset.cluster.x-k8s.io/worker-a"
    await history._history(target(cluster), word, Format.JSON)
    of_cluster_api = capsys.readouterr().out
    await history._history(target(cluster, CLUSTER_NAMESPACE), "worker-a", Format.JSON)
    assert capsys.readouterr().out == of_cluster_api
    await history._history(target(cluster, MACHINE_NAMESPACE), "worker-a", Format.JSON)
    assert capsys.readouterr().out != of_cluster_api


async def test_adopt_releases_an_image_that_was_applied_once(cluster: BootCluster) -> None:
    await cluster.usual()
    body = {
        "apiVersion": MACHINE_SETS.api_version,
        "kind": MACHINE_SETS.kind,
        "metadata": {"name": "worker-a", "namespace": MACHINE_NAMESPACE},
        "spec": {"template": {"spec": {"providerSpec": {"value": gcp_spec()}}}},
    }
    await cluster.kube.apply(MACHINE_SETS, body, field_manager="kubectl", force=True)
    async with running(cluster):
        await cluster.until_state("Skipped", reason="FieldManagedByOther")
        found = await cluster.history()
        assert found is not None
        assert "lading bootimage adopt worker-a" in found.status.message
        await adopt._adopt(target(cluster), "worker-a")
        await cluster.until_state("Current")
    with pytest.raises(RefusedByGuard, match="no manager applies"):
        await adopt._adopt(target(cluster), "worker-a")
