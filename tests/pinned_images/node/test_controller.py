"""The reconcile pipeline of a node, over caches that the test fills and may leave stale."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from lading.adapters.kube.client import KubeClient
from lading.api.core import NODES, RUNTIME_CLASSES
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.kernel.objects import Key, OwnerReference
from lading.kernel.values import replace
from lading.loop.informer import Informer
from lading.loop.recorder import EventRecorder
from lading.observability.metrics import Metrics
from lading.pinned_images.node.controller import NodeCaches, NodeReconciler
from lading.pinned_images.node.metrics import PinMetrics
from lading.pinned_images.node.types import PinSettings
from lading.ports import cri
from lading.ports.cri import ImageSpec
from lading.ports.registry import Credential
from tests.pinned_images import installed_api
from tests.pinned_images.cluster.build import IMAGE, image_set, node, pool
from tests.pinned_images.installed_api import api
from tests.pinned_images.node import whole_nodes
from tests.pinned_images.node.whole_nodes import Runtime

__all__ = ["api"]
KEY = Key("", "n")


@dataclass
class OneNode:
    reconciler: NodeReconciler
    caches: NodeCaches
    whole: whole_nodes.Node

    async def look(self, times: int = 1) -> None:
        for _ in range(times):
            await self.reconciler.reconcile(KEY)
            await self.whole.clock.advance(10)


@asynccontextmanager
async def one_node(
    folder: Path, api: KubeClient, runtime: Runtime | None = None, *, is_on: bool = True
) -> AsyncIterator[OneNode]:
    caches = NodeCaches(
        nodes=Informer(NODES),
        pools=Informer(MACHINE_CONFIG_POOLS),
        sets=Informer(PINNED_IMAGE_SETS),
        machine_config_nodes=Informer(MACHINE_CONFIG_NODES),
        runtime_classes=Informer(RUNTIME_CLASSES),
    )
    caches.nodes.put(node("n"))
    caches.pools.put(pool(sets=("s",)))
    caches.sets.put(image_set("s"))
    metrics = Metrics(CollectorRegistry())
    rng = random.Random(1)
    async with whole_nodes.opened(folder, runtime) as whole:
        common: dict[str, Any] = {"kube": api, "clock": whole.clock}
        recorder = EventRecorder(
            **common, rng=rng, metrics=metrics, controller="test", instance="n"
        )
        reconciler = NodeReconciler(
            **common,
            node_name="n",
            caches=caches,
            tools=whole.tools,
            recorder=recorder,
            metrics=PinMetrics(metrics.registry),
            settings=PinSettings(),
            by_runtime_class=False,
            is_on=is_on,
        )
        yield OneNode(reconciler, caches, whole)


@pytest.fixture
async def described(api: KubeClient) -> KubeClient:
    await installed_api.describe_node(api, "n")
    return api


async def test_a_cache_that_lags_behind_causes_no_second_write(
    tmp_path: Path, described: KubeClient
) -> None:
    async with one_node(tmp_path, described) as one:
        one.caches.machine_config_nodes.put(await described.get(MACHINE_CONFIG_NODES, "n"))
        await one.look(times=5)
        seen = await one.reconciler.observe(KEY)
    assert seen is not None
    (entry,) = seen[1].last_status.pinned_image_sets
    assert entry.current_generation == 1


async def test_a_gate_that_is_off_wants_nothing_and_unpins_what_is_ours(
    tmp_path: Path, api: KubeClient
) -> None:
    runtime = Runtime()
    async with one_node(tmp_path / "on", api, runtime) as one:
        await one.look(times=5)
        assert {pin.image for pin in runtime.pins.values()} == {IMAGE}
    async with one_node(tmp_path / "off", api, runtime, is_on=False) as one:
        await one.look()
    assert runtime.pins == {}
    assert runtime.names == {IMAGE}


@dataclass
class EmptyRegistryRuntime(Runtime):
    async def pull(self, spec: ImageSpec, credential: Credential | None = None) -> str:
        raise cri.ImageNotFound("no such image", image=spec.image)


async def test_the_error_of_an_image_is_forgotten_with_the_last_set_that_wants_it(
    tmp_path: Path, api: KubeClient
) -> None:
    async with one_node(tmp_path, api, EmptyRegistryRuntime()) as one:
        await one.look(times=3)
        assert [key.image for key in one.whole.tools.pulls.snapshot()] == [IMAGE]
        one.caches.sets.remove(Key("", "s"))
        await one.look()
        assert one.whole.tools.pulls.snapshot() == {}


async def test_the_error_of_an_image_is_forgotten_when_a_pod_brings_the_image(
    tmp_path: Path, api: KubeClient
) -> None:
    runtime = EmptyRegistryRuntime()
    async with one_node(tmp_path, api, runtime) as one:
        await one.look(times=3)
        runtime.names.add(IMAGE)
        await one.look()
        assert one.whole.tools.pulls.snapshot() == {}


async def test_an_agent_writes_nothing_to_the_report_of_an_earlier_node(
    tmp_path: Path, described: KubeClient
) -> None:
    async with one_node(tmp_path, described) as one:
        found = await described.get(MACHINE_CONFIG_NODES, "n")
        earlier = OwnerReference(api_version="v1", kind="Node", name="n", uid="earlier")
        metadata = replace(found.metadata, owner_references=(earlier,))
        one.caches.machine_config_nodes.put(replace(found, metadata=metadata))
        await one.look(times=3)
        assert await described.get(MACHINE_CONFIG_NODES, "n") == found
        one.caches.machine_config_nodes.put(found)
        await one.look(times=3)
        (entry,) = (await described.get(MACHINE_CONFIG_NODES, "n")).status.pinned_image_sets
        assert entry.current_generation == 1
