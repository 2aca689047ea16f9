"""Agent and controller in a cluster without our kinds: they run, and begin when the kinds come."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.adapters.registry import client as registry_client
from lading.api.core import EVENTS
from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SET
from lading.embedded import api_server, node
from lading.embedded.api_server import ApiServer
from lading.embedded.cri import server as cri_server
from lading.embedded.cri.core import EmbeddedRuntime
from lading.embedded.node import LINUX_AMD64, NodeDescription
from lading.installation import apply as installation
from lading.wiring.features import DEFINITIONS
from tests.e2e import waiting
from tests.e2e.programs import Program

NODE = "node-1"
CLOCK = SystemClock()


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[ApiServer]:
    async with api_server.serve(tmp_path / "api", CLOCK) as served:
        await node.register(KubeClient(served.exchange), NodeDescription(name=NODE), CLOCK)
        yield served


@contextlib.asynccontextmanager
async def started(
    name: str, api: ApiServer, folder: Path, *arguments: str
) -> AsyncIterator[Program]:
    program = Program(
        name=name,
        arguments=(name, f"--kubeconfig={api.kubeconfig}", *arguments),
        log=folder / f"{name}.log",
    )
    try:
        await program.start()
        yield program
    finally:
        await program.kill()


@contextlib.asynccontextmanager
async def container_runtime(folder: Path) -> AsyncIterator[str]:
    async with registry_client.connect(CLOCK) as registry:
        embedded = EmbeddedRuntime(
            root=folder / "images", registry=registry, clock=CLOCK, platform=LINUX_AMD64
        )
        async with cri_server.serve(embedded, folder / "runtime.sock") as endpoint:
            yield endpoint


async def waits_for_kinds(program: Program) -> bool:
    """Ready all the same, and the feature is listed with what is missing."""
    first, *lines = (await program.get("/readyz")).decode().splitlines()
    listed = [one for one in lines if one.startswith("feature waits: pinned-images: ")]
    return first == "ok" and len(listed) == 1 and f"{PINNED_IMAGE_SET.name} v1" in listed[0]


async def is_plainly_ready(program: Program) -> bool:
    return await program.get("/readyz") == b"ok\n"


async def reported_on(kube: KubeClient) -> list[str]:
    found = [one async for one in kube.each(EVENTS) if one.reason == "WaitingForKinds"]
    return [one.regarding.kind for one in found]


async def test_a_controller_runs_without_its_kinds_and_begins_when_they_come(
    api: ApiServer, tmp_path: Path
) -> None:
    kube = KubeClient(api.exchange)

    async def is_reported() -> bool:
        return await reported_on(kube) == ["Lease"]

    async def has_pools() -> bool:
        return bool((await kube.page(MACHINE_CONFIG_POOLS)).items)

    one_feature = "--feature-gates=PrePull=false,ImagePruner=false"
    async with started("controller", api, tmp_path, one_feature) as program:
        await waiting.until(lambda: waits_for_kinds(program), "the controller waits for kinds")
        await waiting.until(is_reported, "one event on the Lease reports it")
        assert program.events_since(0).count("feature waits for kinds") == 1
        await installation.install(kube, CLOCK, DEFINITIONS)
        await waiting.until(has_pools, "the controller makes the pools")
        assert await is_plainly_ready(program)
        assert await program.stop() == 0
    assert await is_reported()


async def test_an_agent_runs_without_its_kinds_and_begins_when_they_come(
    api: ApiServer, tmp_path: Path
) -> None:
    kube = KubeClient(api.exchange)

    async def is_reported() -> bool:
        return await reported_on(kube) == ["Node"]

    async def shows_progress(program: Program) -> bool:
        return (await program.get("/pinned-images")).startswith(b"{")

    async with container_runtime(tmp_path) as endpoint:
        arguments = (
            f"--node={NODE}",
            f"--runtime-endpoint={endpoint}",
            f"--state-dir={tmp_path / 'state'}",
            "--kubelet-port=1",
        )
        async with started("agent", api, tmp_path, *arguments) as program:
            await waiting.until(lambda: waits_for_kinds(program), "the agent waits for kinds")
            await waiting.until(is_reported, "one event on the Node reports it")
            await installation.install(kube, CLOCK, DEFINITIONS)
            await waiting.until(lambda: shows_progress(program), "the agent looks at its node")
            assert await is_plainly_ready(program)
            assert await program.stop() == 0
