"""The process of a pruning Job, ended with SIGKILL in every phase of its run, and run again."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from lading.api.core import JOBS, PODS
from lading.api.imageregistry import IMAGE_PRUNERS
from lading.embedded.registry import server as registry_server
from lading.kernel.digests import Digest
from lading.ports.http import HttpTransport
from lading.pruning.operator import status
from tests.cli.prune import openshift
from tests.e2e import withheld
from tests.e2e.withheld import Wanted, Withheld, asked
from tests.pruning import worlds
from tests.pruning.operator import pruner_clusters
from tests.pruning.operator.pruner_clusters import PrunerCluster
from tests.pruning.worlds import Shelf

JOB = "lading-image-pruner-1"
GOING = 4
"""Images that go; the newest one, which a pod uses, stays."""
ENDED_SECONDS_MAX = 60.0

DELETED = asked("DELETE", "/manifests/")
REPORTED = asked("PATCH", "/imagepruners/cluster/status")
PHASES: dict[str, tuple[Wanted, ...]] = {
    "while references are read": (asked("GET", "/api/v1/pods"),),
    "right after it planned": (asked("HEAD", "/manifests/latest"),),
    "after the canary": (DELETED, asked("HEAD", "/manifests/latest")),
    "in the middle of deletions": (DELETED, DELETED),
    "while it reports what it deleted": (DELETED, REPORTED),
    "in the sweep of blobs": (asked("PUT", "/v2/lading/probe/manifests/"),),
}


@dataclass
class PrunedWorld:
    cluster: PrunerCluster
    shelf: Shelf
    kubeconfig: Path
    moment: Withheld
    digests: list[Digest] = field(default_factory=list)

    async def attempt(self, *wanted: Wanted) -> int:
        """As the kubelet starts the container of the Job; killed at the moment, if there is one."""
        found = await self.cluster.cron_job()
        assert found is not None
        pod = found.spec["jobTemplate"]["spec"]["template"]["spec"]
        (container,) = (one for one in pod["containers"] if one["name"] == "registry-main")
        self.moment.at(*wanted)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", "from lading.cli.main import main; main()",
            *container["args"], f"--kubeconfig={self.kubeconfig}",
            stdout=asyncio.subprocess.DEVNULL,
            env={**os.environ, "POD_NAME": f"{JOB}-abcde"},
        )  # fmt: skip
        try:
            if wanted:
                await self.moment.until_reached()
                process.kill()
            return await asyncio.wait_for(process.wait(), ENDED_SECONDS_MAX)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
            self.moment.let_go()

    async def left(self) -> set[Digest]:
        return {
            one
            for one in self.digests
            if await self.shelf.admin.head(self.shelf.at(f"team/app@{one}")) is not None
        }

    async def phases(self) -> dict[str, str]:
        found = await self.cluster.pruner()
        assert found is not None
        return {one.name: one.phase for one in status.status_of(found).last_run}


def way_of_jobs(cluster: PrunerCluster) -> HttpTransport:
    assert cluster.job_line is not None
    return cluster.job_line


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[PrunedWorld]:
    moment = Withheld()
    async with (
        pruner_clusters.opened() as cluster,
        withheld.api_server(way_of_jobs(cluster), moment) as api,
        registry_server.serve(folder / "registry") as url,
        worlds.shelf_at(url) as shelf,
        withheld.registry(shelf.host, moment) as host,
    ):
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(yaml.safe_dump(openshift.kubeconfig_of(api)))
        world = PrunedWorld(cluster=cluster, shelf=shelf, kubeconfig=kubeconfig, moment=moment)
        for number in range(GOING + 1):
            made = await shelf.image("team/app:latest", layers=[f"layer {number}".encode()])
            world.digests.append(made.digest)
        await use(cluster, f"{shelf.host}/team/app:latest")
        entry = {
            "name": "main",
            "url": f"http://{host}",
            "registryNames": [shelf.host],
            "storage": {"url": f"file://{folder / 'registry'}"},
            "sweep": {"grace": "1h"},
            "trash": {"disabled": True},
        }
        spec = {"keepTagRevisions": 0, "keepYoungerThan": "0s", "registries": [entry]}
        await cluster.create(IMAGE_PRUNERS, "cluster", spec=spec)
        yield world


async def use(cluster: PrunerCluster, image: str) -> None:
    body: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "user"},
        "spec": {"containers": [{"name": "main", "image": image}]},
    }
    await cluster.kube.create(PODS, body, namespace="default")


@pytest.mark.parametrize(
    "phases",
    [
        ("in the middle of deletions",),
        pytest.param(tuple(PHASES), marks=pytest.mark.soak),
    ],
    ids=["one", "every"],
)
@pytest.mark.timeout(300)
async def test_killed_in_a_phase_the_end_is_the_same(
    tmp_path: Path, phases: tuple[str, ...]
) -> None:
    async with opened(tmp_path) as world, pruner_clusters.running(world.cluster):
        cluster, *_, used = world.cluster, *world.digests
        await cluster.until_condition("Available", "True", "Ready")
        for phase in phases:
            assert await world.attempt(*PHASES[phase]) < 0, f"it was killed {phase}"
            assert used in await world.left(), phase
            failed = await cluster.condition("Failed")
            assert failed is not None
            assert failed.reason == "NotRun", "no Job has ended"
        assert await world.attempt() == 0
        assert await world.phases() == {"main": "Succeeded", "main.blobs": "Succeeded"}
        await cluster.play_job(JOB)
        await cluster.until_condition("Failed", "False", "Succeeded")
        assert await world.left() == {used}
        assert await world.shelf.pullable("team/app:latest")
        assert len((await cluster.kube.page(JOBS)).items) == 1
