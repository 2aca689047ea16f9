"""Workloads of `lading up` when it is killed: no process stays, and a restart goes on."""

import signal
from pathlib import Path

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.cri.client import CriClient
from lading.adapters.kube.client import KubeClient
from lading.embedded import sample_images
from lading.embedded.workloads import own_image
from lading.embedded.workloads.kinds import DAEMON_SETS, JOBS, PODS, Pod
from lading.kernel import references
from lading.ports.cri import Container
from lading.ports.kube import Selection
from lading.wire import calls
from lading.wiring.registries import open_registries
from tests.cli.up_process import client_of, processes_of, up
from tests.e2e import waiting, workload_objects

pytestmark = pytest.mark.timeout(300)


async def test_kill_leaves_no_process_and_a_restart_comes_to_the_same_end(tmp_path: Path) -> None:
    async with up(tmp_path) as process, client_of(tmp_path) as client:
        host = f"127.0.0.1:{(tmp_path / 'registry-port').read_text()}"
        own, held = str(own_image.reference(host)), await push(host)
        template = workload_objects.holder_template(own, {"held": held})
        await create(client, workload_objects.daemon_set(template))
        await create(client, workload_objects.job(own, "pin", "status", "-w"))

        async def is_working() -> bool:
            statuses = [one for pod in await pods(client) for one in pod.status.container_statuses]
            return len(statuses) == 2 and all(one.ready for one in statuses)

        await waiting.until(is_working, "the holder and the job's pod were ready")
        assert processes_of(tmp_path) != set()
        process.send_signal(signal.SIGKILL)
        await process.wait()

    async def nothing_is_left() -> bool:
        return processes_of(tmp_path) == set()

    await waiting.until(nothing_is_left, "no process was left")
    async with up(tmp_path), client_of(tmp_path) as client:
        assert {one.image.image for one in await containers(tmp_path)} == {own, held}

        async def is_retried() -> bool:
            job = await client.get(JOBS, "job", namespace="default")
            return (job.status.failed, job.status.active, job.status.ready) == (1, 1, 1)

        await waiting.until(is_retried, "the job counted one failure and ran again")
        (holder,) = [one for one in await pods(client) if "prepull" in one.metadata.name]
        (status,) = holder.status.container_statuses
        assert (status.ready, status.restart_count) == (True, 0)
        (lost,) = [one for one in await pods(client) if one.status.phase == "Failed"]
        ended = lost.status.container_statuses[0].state.terminated
        assert ended is not None
        assert (ended.exit_code, ended.reason) == (137, "ContainerStatusUnknown")


async def push(host: str) -> str:
    made = sample_images.image([{"file": b"one text file"}])
    async with open_registries(SystemClock()) as registries:
        tag = references.parse(f"{host}/held:v1")
        return str(await sample_images.push(registries.client, tag, made))


async def create(client: KubeClient, body: dict[str, object]) -> None:
    resource = DAEMON_SETS if body["kind"] == "DaemonSet" else JOBS
    await client.create(resource, body, namespace="default")


async def pods(client: KubeClient) -> tuple[Pod, ...]:
    return (await client.page(PODS, Selection(namespace="default"))).items


async def containers(data: Path) -> tuple[Container, ...]:
    async with calls.channel_to(f"unix://{data}/nodes/node-1/runtime.sock") as channel:
        return await CriClient(channel).containers()
