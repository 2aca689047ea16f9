"""Roll-outs of held images over 20 nodes: real API server, DaemonSet controller and scheduler.

The kubelets are played: they run what is bound to their node, as far as it shows in pods. The
controller has the rights of `deploy/` and no others.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from lading.adapters.clock import SystemClock
from lading.adapters.kube import connect, requests
from lading.adapters.kube.client import KubeClient
from lading.api.core import NODES, PODS, Pod
from lading.api.longhorn import IMAGES
from lading.ports import kube
from lading.ports.http import Request
from lading.prepull import nodes
from lading.prepull.rules import listed_name
from lading.prepull.types import DefaultImage
from tests.conformance.kube.api import resource
from tests.deploy.manifests import DEPLOY, NAMESPACE, NAMESPACES, SETTING, SHARED
from tests.prepull import clusters
from tests.prepull.clusters import Line, PrePullCluster
from tests.prepull.worlds import A, B
from tests.real.bed import api_server, control_plane, sandbox
from tests.real.bed.api_server import ApiServer

NODE_COUNT, DEAD_COUNT, WAVE = 20, 3, 2
CONTROLLERS = (
    "daemonset-controller,garbage-collector-controller,serviceaccount-controller,"
    "resourcequota-controller"
)
NAMES = [f"node-{number:02}" for number in range(NODE_COUNT)]
DEAD = set(NAMES[:DEAD_COUNT])
QUOTAS = resource("resourcequotas", "ResourceQuota")
QUOTA = "small"
QUOTA_SECONDS_MAX = 180.0
"""A node may lack its pod for 30 seconds before the controller reads the cause."""
REST_SECONDS = 5.0
"""The DaemonSet controller and the controller need less for every node."""
RESOURCES = {"cpu": "4", "memory": "8Gi", "pods": "110", "ephemeral-storage": "10Gi"}

pytestmark = [pytest.mark.components("kube"), pytest.mark.asyncio(loop_scope="session")]


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with sandbox.sandbox() as place:
        running = api_server.start(place)
        control_plane.start_scheduler(place, running)
        control_plane.start_controllers(place, running, only=CONTROLLERS)
        for file in (DEPLOY / "crds", SETTING):
            running.kubectl("apply", "--server-side", "-f", str(file))
        shared = SHARED / "base"
        for file in (NAMESPACES, shared / "rbac.yaml", shared / "priority-class.yaml"):
            running.kubectl("apply", "--server-side", "-f", str(file))
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def cluster(server: ApiServer) -> AsyncIterator[PrePullCluster]:
    connection = connect.find({}, file=server.kubeconfig_path)
    async with connect.connect(connection, SystemClock()) as admin:
        made = PrePullCluster(kube=admin, line=Line(no_line))
        await make_nodes(made)
        await clean(made)
        yield made
        await clean(made)


async def clean(cluster: PrePullCluster) -> None:
    """The next test finds the nodes, and nothing else."""
    with contextlib.suppress(kube.NotFound):
        await cluster.kube.delete(QUOTAS, QUOTA, namespace=NAMESPACE)
    for name in await cluster.images():
        await cluster.kube.delete(IMAGES, name, namespace=NAMESPACE)

    async def are_gone() -> bool:
        return not await cluster.pods()

    async with playing(Kubelets(cluster)):
        await cluster.until(are_gone, "the DaemonSet and its pods are gone with the Images")


async def no_line(request: object) -> Any:
    raise AssertionError("the controller has a client of its own")


@pytest_asyncio.fixture(loop_scope="session")
async def controller(server: ApiServer, tmp_path: Path) -> AsyncIterator[KubeClient]:
    token = server.kubectl("create", "token", "lading-controller", f"--namespace={NAMESPACE}")
    file = server.write_kubeconfig(tmp_path / "controller", token.strip())
    async with connect.connect(connect.find({}, file=file), SystemClock()) as client:
        yield client


async def make_nodes(cluster: PrePullCluster) -> None:
    known = {one.metadata.name async for one in cluster.kube.each(NODES)}
    for name in sorted(set(NAMES) - known):
        labels = {"kubernetes.io/os": "linux", "kubernetes.io/hostname": name}
        await cluster.create(NODES, name, metadata={"labels": labels})
        ready = {"type": "Ready", "status": str(name not in DEAD)}
        status = {"conditions": [ready], "allocatable": RESOURCES, "capacity": RESOURCES}
        await cluster.kube.patch(NODES, name, {"status": status}, subresource="status")
        # The API server taints a new node, and no controller here removes the taint.
        await cluster.kube.patch(NODES, name, {"spec": {"taints": None}})


@dataclass
class Kubelets:
    """Run what is bound to their node, and confirm what is deleted."""

    cluster: PrePullCluster
    broken: set[str] = field(default_factory=set)
    """Nodes where nothing becomes ready."""
    pulling_max: int = 0
    watched: set[str] = field(default_factory=set)
    """Nodes that must hold something all the time."""
    gaps: list[str] = field(default_factory=list)
    _turns: dict[str, int] = field(default_factory=dict)

    async def run(self) -> None:
        while True:
            with contextlib.suppress(kube.Conflict, kube.NotFound):
                await self._turn()
            await asyncio.sleep(0.1)

    async def _turn(self) -> None:
        pods = await self.cluster.pods()
        holding = {pod.spec.node_name for pod in pods if is_ready(pod)}
        self.gaps += sorted(self.watched - holding)
        pulling = [pod for pod in pods if pod.spec.node_name and not is_ready(pod)]
        well = [pod for pod in pulling if pod.spec.node_name not in self.broken]
        self.pulling_max = max(self.pulling_max, len(well))
        for pod in pods:
            if pod.metadata.deletion_timestamp:
                await self._end(pod)
        for pod in well:
            turns = self._turns[pod.metadata.uid] = self._turns.get(pod.metadata.uid, 0) + 1
            if turns > 2 and not pod.metadata.deletion_timestamp:
                await self._start(pod)

    async def _start(self, pod: Pod) -> None:
        statuses = [
            {
                "name": one.name,
                "image": one.image,
                "imageID": "",
                "restartCount": 0,
                "ready": True,
                "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
            }
            for one in pod.spec.containers
        ]
        conditions = [{"type": "Ready", "status": "True"}]
        status = {"phase": "Running", "conditions": conditions, "containerStatuses": statuses}
        await self.cluster.kube.patch(
            PODS, pod.metadata.name, {"status": status}, namespace=NAMESPACE, subresource="status"
        )

    async def _end(self, pod: Pod) -> None:
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
        request = Request(
            method="DELETE",
            path=requests.object_path(PODS, pod.metadata.name, namespace=NAMESPACE),
            headers=requests.JSON_HEADERS,
            body=json.dumps(options).encode(),
        )
        await self.cluster.kube.send(request)


def is_ready(pod: Pod) -> bool:
    return any(one.type == "Ready" and one.status == "True" for one in pod.status.conditions)


@contextlib.asynccontextmanager
async def playing(kubelets: Kubelets) -> AsyncIterator[None]:
    task = asyncio.create_task(kubelets.run())
    try:
        yield
    finally:
        task.cancel()
        (ended,) = await asyncio.gather(task, return_exceptions=True)
        assert isinstance(ended, asyncio.CancelledError), f"the kubelets ended: {ended!r}"


async def test_waves_an_upgrade_without_a_gap_and_dead_nodes(
    cluster: PrePullCluster, controller: KubeClient
) -> None:
    kubelets = Kubelets(cluster)
    alive = set(NAMES) - DEAD
    async with playing(kubelets):
        async with clusters.running(cluster, ("share-manager", A), client=controller):
            await cluster.until_state("deployed")
            (found,) = (await cluster.images()).values()
            held = {name for name, is_so in found.status.node_deployment_map.items() if is_so}
            assert held == alive
            assert 0 < kubelets.pulling_max <= WAVE, (
                "no more pull at once, at the first install too"
            )
            waiting = {nodes.node_of(pod) for pod in await cluster.pods() if not is_ready(pod)}
            assert waiting <= DEAD
        kubelets.watched = alive
        kubelets.pulling_max = 0
        async with clusters.running(cluster, ("share-manager", B), client=controller):
            await cluster.until_state("deployed", name_of(B))

            async def is_done() -> bool:
                return set(await cluster.images()) == {name_of(B)}

            await cluster.until(is_done, "the old Image is deleted")
        assert kubelets.pulling_max <= WAVE
        assert kubelets.gaps == [], "no Ready node lacks both the old and the new image"


def name_of(url: str) -> str:
    return listed_name(DefaultImage(name="share-manager", url=url))


async def test_one_bad_image_does_not_start_all_nodes_at_once(
    cluster: PrePullCluster, controller: KubeClient
) -> None:
    """With a bad image no pod is ready, so Kubernetes deletes all of them."""
    kubelets = Kubelets(cluster)
    async with playing(kubelets):
        async with clusters.running(cluster, ("share-manager", A), client=controller):
            await cluster.until_state("deployed")
        kubelets.broken = set(NAMES)  # no pull ends, so the wave stays full
        not_ready = {"conditions": [{"type": "Ready", "status": "False"}]}
        old = {one.metadata.uid for one in await cluster.pods()}
        for pod in await cluster.pods():
            await cluster.kube.patch(
                PODS,
                pod.metadata.name,
                {"status": not_ready},
                namespace=NAMESPACE,
                subresource="status",
            )
        async with clusters.running(cluster, ("share-manager", B), client=controller):

            async def started() -> set[str]:
                new = (one for one in await cluster.pods() if one.metadata.uid not in old)
                return {one.spec.node_name for one in new} - {""}

            async def a_wave_has_started() -> bool:
                return len(await started()) >= WAVE

            await cluster.until(a_wave_has_started, "the first wave pulls")
            await asyncio.sleep(REST_SECONDS)
            assert len(await started()) == WAVE


async def test_a_quota_that_refuses_new_pods_is_reported_and_the_old_ones_stay(
    cluster: PrePullCluster, controller: KubeClient
) -> None:
    kubelets = Kubelets(cluster)
    async with playing(kubelets):
        async with clusters.running(cluster, ("share-manager", A), client=controller):
            await cluster.until_state("deployed", name_of(A))
        kubelets.watched = set(NAMES) - DEAD
        await cluster.create(QUOTAS, QUOTA, spec={"hard": {"pods": "0"}})

        async def is_counted() -> bool:
            found = await cluster.kube.get(QUOTAS, QUOTA, namespace=NAMESPACE)
            return bool(found.get("status", {}).get("hard"))

        await cluster.until(is_counted, "the quota counts")
        async with clusters.running(cluster, ("share-manager", B), client=controller):
            await cluster.until_state("error", name_of(B), seconds_max=QUOTA_SECONDS_MAX)
            found = (await cluster.image(name_of(B))).status
            assert {one.reason for one in found.failures} == {"QuotaExceeded"}
            assert "exceeded quota: small" in found.failures[0].message
        assert kubelets.gaps == []
