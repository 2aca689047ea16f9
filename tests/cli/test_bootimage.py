"""`lading bootimage` on an API server in memory: what it shows, refuses and restores."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import click
import pytest

from lading.adapters.kube.client import KubeClient
from lading.api.core import CONFIG_MAPS
from lading.api.machine import CONTROL_PLANE_MACHINE_SETS, MACHINES
from lading.boot_images.types import PAUSE_ANNOTATION, PROOF_ANNOTATION, BootImageSettings
from lading.cli.bootimage import approve, history, plan, restore, resume, status
from lading.cli.connection import Target
from lading.cli.exit_codes import RefusedByGuard
from lading.cli.output import Format
from tests.boot_images.clusters import GOLDEN_NAMESPACE, BootCluster, opened, running
from tests.boot_images.ignition.stubs import spec_2
from tests.boot_images.streams import GCP_IMAGE, GCP_IMAGE_OLD
from tests.boot_images.worlds import MACHINE_NAMESPACE, gcp_spec

COPY = "worker-user-data-spec-3-managed"


@dataclass(frozen=True, slots=True, kw_only=True)
class InMemory(Target):
    client: Any

    @asynccontextmanager
    async def open(self) -> AsyncIterator[KubeClient]:
        yield self.client


@pytest.fixture
async def cluster() -> AsyncIterator[BootCluster]:
    async with opened() as one:
        yield one


def target(cluster: BootCluster) -> Target:
    return InMemory(kubeconfig=None, context="", namespace="", client=cluster.kube)


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
    assert f"{GCP_IMAGE} becomes {GCP_IMAGE_OLD}" in shown
    assert "Nothing was changed" in shown


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
    assert found.spec.resumed_after_index == 2


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


async def test_approve_proves_a_release_where_nothing_else_can(cluster: BootCluster) -> None:
    await cluster.make_golden()
    await cluster.make_stub()
    await cluster.make_node()
    await cluster.make_set()
    await cluster.enrol()
    with pytest.raises(RefusedByGuard, match=r"of release 4.21.3, not 4.20.0"):
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
