"""Processes on the embedded API server that has the kinds of some features only."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.api.apiextensions import CUSTOM_RESOURCE_DEFINITIONS
from lading.api.core import EVENTS, LEASES, NODES, Event
from lading.api.definitions import Definition
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SET
from lading.boot_images.feature import FEATURE as BOOT_IMAGES
from lading.embedded import node as nodes
from lading.embedded.api_server import Authorized
from lading.embedded.kube.authentication import ADMIN
from lading.embedded.kube.core import Core
from lading.embedded.kube.storage.memory import MemoryStorage
from lading.embedded.node import NodeDescription
from lading.installation import apply as installation
from lading.kernel.feature_gates import Gate
from lading.kernel.objects import Object
from lading.loop import recorder, tasks
from lading.loop.feature import Component, Context, Feature, Kind, Tasks
from lading.loop.manager import Manager
from lading.observability.metrics import Metrics
from lading.pinned_images.feature import FEATURE as PINNED_IMAGES
from lading.pools.feature import FEATURE as POOLS
from lading.ports import kube
from lading.ports.http import Request, Response
from lading.wiring import agent, controller
from lading.wiring.features import DEFINITIONS
from lading.wiring.gates import parse_gates
from tests.e2e import waiting
from tests.pinned_images.node import whole_nodes

CLOCK = SystemClock()
CHANCE = random.Random(1)
NODE = "node-1"
REASON = "WaitingForKinds"


class Happening(StrEnum):
    SEEN = "Seen"


class Widget(Object, frozen=True, kw_only=True):
    pass


WIDGET = Definition(
    group="example.com",
    versions=("v1",),
    kind="Widget",
    plural="widgets",
    short_names=(),
    namespaced=False,
    type=Widget,
    columns=(),
)
WIDGETS = WIDGET.resource()
GATE = Gate(name="Widgets", default=True, off="nothing happens")


@contextlib.asynccontextmanager
async def open_widgets(context: Context) -> AsyncIterator[Tasks]:
    """Records an event about each widget that there is."""
    widgets = context.informers.of(WIDGETS)

    async def reconcile(key: Any) -> None:
        found = widgets.get(key)
        if found is not None:
            reference = recorder.reference(WIDGETS, found)
            context.recorder.record(
                reference, reason=Happening.SEEN, action="Watch", note="a widget"
            )

    one = context.controller(name="widgets", reconcile=reconcile)
    one.watch(widgets, lambda old, new: (new.key,) if new else ())
    yield Tasks(controllers=(one,))


OTHER = Feature(
    name="widgets",
    gate=GATE,
    summary="An example.",
    owns=(WIDGET,),
    controller=(Component(open=open_widgets, reads=(Kind(resource=WIDGETS),)),),
)


@pytest.fixture
async def api() -> AsyncIterator[KubeClient]:
    core = Core(MemoryStorage(), CLOCK, tokens={"token": ADMIN})
    client = KubeClient(Authorized(core, "token"))
    await nodes.register(client, NodeDescription(name=NODE), CLOCK)
    yield client
    await core.close()


def controllers(api: KubeClient, *features: Feature, gates: str = "") -> Manager:
    metrics = Metrics(CollectorRegistry())
    return controller.controllers(
        kube=api,
        clock=CLOCK,
        metrics=metrics,
        rng=CHANCE,
        gates={**parse_gates(gates), GATE: True},
        namespace="default",
        elector=controller.elector(
            kube=api,
            clock=CLOCK,
            metrics=metrics,
            rng=CHANCE,
            namespace="default",
            identity="replica-1",
        ),
        features=features,
    )


async def events(api: KubeClient, reason: str) -> list[Event]:
    return [one async for one in api.each(EVENTS) if one.reason == reason]


async def has_event(api: KubeClient, reason: str) -> bool:
    return bool(await events(api, reason))


async def exists(api: KubeClient, resource: Any) -> bool:
    return bool((await api.page(resource)).items)


async def make_widget(api: KubeClient) -> None:
    body = {"apiVersion": WIDGETS.api_version, "kind": WIDGETS.kind, "metadata": {"name": "one"}}
    await api.create(WIDGETS, body)


async def test_with_the_kinds_of_one_feature_that_feature_runs(api: KubeClient) -> None:
    await installation.install(api, CLOCK, PINNED_IMAGES.owns)
    manager = controllers(api, OTHER, PINNED_IMAGES)
    async with tasks.started(manager.run()):
        await waiting.until(lambda: exists(api, MACHINE_CONFIG_POOLS), "the pools are made")
        await waiting.until(lambda: exists(api, MACHINE_CONFIG_NODES), "the node is described")
        assert manager.unsynced() == ()
        assert manager.waiting() == ("widgets: widgets.example.com v1",)


async def has_degraded(api: KubeClient) -> bool:
    """Whether the worker pool has the one condition that every feature contributes to."""
    pools = (await api.page(MACHINE_CONFIG_POOLS)).items
    types = {one.type for pool in pools for one in pool.status.conditions}
    return types == {"Degraded", "PinnedImageSetsDegraded"}


async def test_the_status_of_pools_is_written_whatever_gates_and_kinds_there_are(
    api: KubeClient,
) -> None:
    """Boot images wait for their kinds, and the gate of pinned images is off."""
    await installation.install(api, CLOCK, PINNED_IMAGES.owns)
    body = {
        "apiVersion": MACHINE_CONFIG_POOLS.api_version,
        "kind": MACHINE_CONFIG_POOLS.kind,
        "metadata": {"name": "worker"},
        "spec": {},
    }
    await api.create(MACHINE_CONFIG_POOLS, body)
    manager = controllers(api, BOOT_IMAGES, PINNED_IMAGES, POOLS, gates="PinnedImages=false")
    async with tasks.started(manager.run()):
        await waiting.until(lambda: has_degraded(api), "the status is written")


async def test_the_other_feature_starts_when_its_kinds_come(api: KubeClient) -> None:
    await installation.install(api, CLOCK, OTHER.owns)
    manager = controllers(api, OTHER, PINNED_IMAGES)
    with capture_logs() as logs:
        async with tasks.started(manager.run()):
            await make_widget(api)
            await waiting.until(lambda: has_event(api, "Seen"), "the widget is seen")
            await waiting.until(lambda: has_event(api, REASON), "it is reported")
            assert [one.split(":")[0] for one in manager.waiting()] == ["pinned-images"]
            await installation.install(api, CLOCK, PINNED_IMAGES.owns)
            await waiting.until(lambda: exists(api, MACHINE_CONFIG_POOLS), "the pools are made")
            assert manager.waiting() == ()
    waits = [one for one in logs if one["event"] == "feature waits for kinds"]
    assert len(waits) <= 3, "the log reports each change once"


async def test_one_event_on_the_lease_names_the_missing_kinds(api: KubeClient) -> None:
    """The status of pools waits too, and is not reported: it only serves the other feature."""
    manager = controllers(api, POOLS, PINNED_IMAGES)
    async with tasks.started(manager.run()):
        await waiting.until(lambda: has_event(api, REASON), "it is reported")
        await asyncio.sleep(3)  # long enough to check the kinds again
        (event,) = await events(api, REASON)
    lease = await api.get(LEASES, controller.LEASE_NAME, namespace="default")
    assert (event.regarding.kind, event.regarding.uid) == ("Lease", lease.metadata.uid)
    assert event.reporting_controller == "lading-controller"
    assert event.series is None
    assert PINNED_IMAGE_SET.name in event.note
    assert "lading crds" in event.note


async def test_an_agent_without_kinds_counts_images_and_reports_on_its_node(
    api: KubeClient, tmp_path: Path
) -> None:
    metrics = Metrics(CollectorRegistry())
    runtime = whole_nodes.Runtime(names={"registry.example/app:1"})
    manager = await agent.open_agent(
        whole_nodes.parts(tmp_path, runtime, whole_nodes.Registry()),
        node_name=NODE,
        kube=api,
        clock=CLOCK,
        metrics=metrics,
        gates=parse_gates(""),
        rng=CHANCE,
    )

    async def has_counted() -> bool:
        return (
            metrics.registry.get_sample_value("lading_runtime_images", {"runtime_handler": ""})
            == 1.0
        )

    async def is_synced() -> bool:
        return manager.unsynced() == ()

    async def shows_progress() -> bool:
        page = manager.pages().get("/pinned-images")
        return page is not None and await page() is not None

    async with tasks.started(manager.run()):
        await waiting.until(has_counted, "images are counted")
        await waiting.until(lambda: has_event(api, REASON), "it is reported")
        (event,) = await events(api, REASON)
        node = await api.get(NODES, NODE)
        assert (event.regarding.kind, event.regarding.uid) == ("Node", node.metadata.uid)
        await waiting.until(is_synced, "the features that have their kinds are synced")
        await installation.install(api, CLOCK, DEFINITIONS)
        await waiting.until(shows_progress, "the node is looked at")


async def test_a_kind_of_another_owner_is_used_and_noted_once(api: KubeClient) -> None:
    manifest = WIDGET.manifest()
    del manifest["metadata"]["labels"]
    await api.create(CUSTOM_RESOURCE_DEFINITIONS, manifest)
    await make_widget(api)
    manager = controllers(api, OTHER)
    with capture_logs() as logs:
        async with tasks.started(manager.run()):
            await waiting.until(lambda: has_event(api, "Seen"), "the widget is seen")
    notes = [one["note"] for one in logs if one["event"] == "kind of another owner"]
    assert notes == ["widgets.example.com belongs to another owner and is not changed"]


async def test_an_api_server_that_is_away_while_owners_are_read_ends_nothing(
    api: KubeClient,
) -> None:
    await installation.install(api, CLOCK, OTHER.owns)
    await make_widget(api)

    async def away_for_definitions(request: Request) -> Response:
        if CUSTOM_RESOURCE_DEFINITIONS.plural in request.path:
            raise kube.Unavailable("connection refused")
        return await api._transport(request)

    manager = controllers(KubeClient(away_for_definitions), OTHER)
    async with tasks.started(manager.run()):
        await waiting.until(lambda: has_event(api, "Seen"), "the widget is seen")
