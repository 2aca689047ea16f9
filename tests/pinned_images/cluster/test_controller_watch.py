"""Which changes lead to which reconciles: what no key depends on wakes none."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable, Iterable
from datetime import datetime
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from lading.adapters.clock import VirtualClock
from lading.kernel.objects import Key, Object
from lading.kernel.pacing import Pacing
from lading.kernel.values import replace
from lading.loop.controller import Controller
from lading.loop.feature import Runnable
from lading.loop.informer import Informer
from lading.observability.metrics import Metrics
from lading.pinned_images.cluster import controller
from lading.pinned_images.cluster.fleet import Fleet
from tests.pinned_images.cluster.build import (
    empty_caches,
    image_set,
    machine_config_node,
    node,
    pool,
)

NODES, POOLS, SETS = controller.NAMES
COUNTED = "counted"
"""Beside a pool: it has other counts, which the writer of its status is given."""


class Watched:
    """Real controllers over caches that a test fills; it sees which names they reconcile."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.caches = empty_caches()
        self.fleet = Fleet(self.caches)
        self._seen: list[tuple[str, str]] = []
        metrics = Metrics(CollectorRegistry())
        self.controllers = {
            name: Controller(
                name=name,
                reconcile=self._reconcile(name),
                clock=self.clock,
                rng=random.Random(1),
                metrics=metrics,
            )
            for name in controller.NAMES
        }
        controller.watch(
            self.controllers,
            self.caches,
            self.fleet,
            Pacing().debounce_seconds,
            pools_counted=self._pools_counted,
        )

    def _pools_counted(self, names: Iterable[str]) -> None:
        self._seen.extend((COUNTED, name) for name in names)

    def _reconcile(self, name: str) -> Callable[[Key], Any]:
        async def reconcile(key: Key) -> datetime | None:
            self._seen.append((name, key.name))
            return None

        return reconcile

    async def after(self, informer: Informer[Any], *objects: Object) -> set[tuple[str, str]]:
        """What is reconciled when these objects come in, one after the other."""
        await self.clock.advance(5)
        self._seen.clear()
        for one in objects:
            informer.put(one)
        await self.clock.advance(5)
        return set(self._seen)


@pytest.fixture
async def watched() -> AsyncIterator[Watched]:
    made = Watched()
    running: tuple[Runnable, ...] = (made.fleet, *made.controllers.values())
    work = [asyncio.create_task(one.run()) for one in running]
    made.caches.nodes.put(versioned(node("n")))
    made.caches.pools.put(versioned(pool("infra", sets=("s",))))
    made.caches.sets.put(versioned(image_set("s")))
    yield made
    for one in work:
        one.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.gather(*work)


def versioned(one: Any, version: str = "1") -> Any:
    metadata = replace(one.metadata, resource_version=version)
    return replace(one, metadata=metadata)


DEFAULT_POOLS = {(POOLS, "master"), (POOLS, "worker")}
EVERY_POOL = {(POOLS, "infra"), *DEFAULT_POOLS}


async def test_a_heartbeat_of_a_node_wakes_nothing(watched: Watched) -> None:
    assert await watched.after(watched.caches.nodes, versioned(node("n"), "2")) == set()


async def test_a_node_that_is_no_longer_ready_is_counted_in_its_pool(watched: Watched) -> None:
    found = await watched.after(watched.caches.nodes, versioned(node("n", ready=False), "2"))
    assert found == {(COUNTED, "infra")}


async def test_a_node_that_moves_is_described_anew_and_counted_in_both_pools(
    watched: Watched,
) -> None:
    selector = {"matchLabels": {"edge": "yes"}}
    edge = versioned(pool("edge", nodeSelector=selector))
    await watched.after(watched.caches.pools, edge)
    found = await watched.after(watched.caches.nodes, versioned(node("n", edge="yes"), "2"))
    assert found == {(NODES, "n"), (COUNTED, "infra"), (COUNTED, "edge")}


async def test_a_new_node_gets_an_object_and_the_default_pools(watched: Watched) -> None:
    found = await watched.after(watched.caches.nodes, versioned(node("m")))
    assert found == {(NODES, "m"), *DEFAULT_POOLS, (COUNTED, "infra"), (SETS, "s")}


async def test_a_report_wakes_what_it_changes(watched: Watched) -> None:
    held = versioned(machine_config_node("n", holds={"s": 1}))
    reports = watched.caches.machine_config_nodes
    assert await watched.after(reports, held) == {(NODES, "n"), (COUNTED, "infra"), (SETS, "s")}
    again = versioned(machine_config_node("n", holds={"s": 1}), "2")
    assert await watched.after(reports, again) == set()
    failed = versioned(machine_config_node("n", error="it broke"), "3")
    assert await watched.after(reports, failed) == {(COUNTED, "infra"), (SETS, "s")}


async def test_a_pool_with_a_changed_selector_moves_its_nodes(watched: Watched) -> None:
    same = versioned(pool("infra", sets=("s",), generation=5), "2")
    assert await watched.after(watched.caches.pools, same) == {(POOLS, "infra")}
    other = pool("infra", sets=("s",), nodeSelector={"matchLabels": {"infra": "yes"}})
    found = await watched.after(watched.caches.pools, versioned(other, "3"))
    assert found == {(NODES, "n"), (POOLS, "infra"), (COUNTED, "infra"), (SETS, "s")}


async def test_a_set_is_entered_by_any_pool_and_its_status_wakes_itself_only(
    watched: Watched,
) -> None:
    found = await watched.after(watched.caches.sets, versioned(image_set("t")))
    assert found == {(SETS, "t"), *EVERY_POOL}
    again = versioned(image_set("t"), "2")
    assert await watched.after(watched.caches.sets, again) == {(SETS, "t")}


async def test_a_new_generation_is_counted_in_the_pools_that_have_the_set(
    watched: Watched,
) -> None:
    held = versioned(machine_config_node("n", holds={"s": 1}))
    await watched.after(watched.caches.machine_config_nodes, held)
    edited = versioned(image_set("s", generation=2), "2")
    assert await watched.after(watched.caches.sets, edited) == {(SETS, "s"), (COUNTED, "infra")}


async def test_the_first_node_of_a_pool_changes_why_its_sets_have_none(watched: Watched) -> None:
    narrow = image_set("narrow", nodeSelector={"matchLabels": {"gpu": "yes"}})
    edge = pool("edge", sets=("narrow",), nodeSelector={"matchLabels": {"edge": "yes"}})
    await watched.after(watched.caches.sets, versioned(narrow))
    await watched.after(watched.caches.pools, versioned(edge))
    first = await watched.after(watched.caches.nodes, versioned(node("n", edge="yes"), "2"))
    assert (SETS, "narrow") in first
    second = await watched.after(watched.caches.nodes, versioned(node("m", edge="yes")))
    assert (SETS, "narrow") not in second
    await watched.after(watched.caches.nodes, versioned(node("m"), "2"))
    last = await watched.after(watched.caches.nodes, versioned(node("n"), "3"))
    assert (SETS, "narrow") in last


async def test_a_new_pool_wakes_the_nodes_that_it_does_not_select(watched: Watched) -> None:
    """One of them may be the last default pool: a node that none selects is then an event."""
    selector = {"matchLabels": {"edge": "yes"}}
    found = await watched.after(
        watched.caches.pools, versioned(pool("edge", nodeSelector=selector))
    )
    assert (NODES, "n") in found
