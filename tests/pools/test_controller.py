"""The one writer of the status of pools, and when it begins."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from lading.adapters.clock import VirtualClock
from lading.adapters.kube.client import KubeClient
from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.kernel.objects import Key
from lading.kernel.pacing import Pacing
from lading.loop.controller import Controller
from lading.loop.informer import Informer
from lading.loop.pool_contributions import PoolContributions
from lading.observability.metrics import Metrics
from lading.pools.controller import PoolStatusReconciler, PoolStatusWriter, watch
from tests.pinned_images.cluster.build import recorder
from tests.pinned_images.installed_api import api
from tests.pools.build import POOL, Contributor, facts

__all__ = ["api"]


class Writer:
    """The real writer over a cache that no watch changes."""

    def __init__(self, api: KubeClient) -> None:
        self.api = api
        self.clock = VirtualClock()
        self.pools = Informer(MACHINE_CONFIG_POOLS)
        self.contributions = PoolContributions()
        self.reconciler = PoolStatusReconciler(
            pools=self.pools,
            contributions=self.contributions,
            kube=api,
            clock=self.clock,
            recorder=recorder(api, self.clock),
            pacing=Pacing(),
        )
        self.controller = Controller(
            name="pools",
            reconcile=self.reconciler.reconcile,
            clock=self.clock,
            rng=random.Random(1),
            metrics=Metrics(CollectorRegistry()),
        )
        watch(self.controller, self.pools, self.contributions, Pacing().debounce_seconds)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        writer = PoolStatusWriter(controller=self.controller, contributions=self.contributions)
        work = asyncio.create_task(writer.run())
        yield
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)

    async def conditions(self) -> dict[str, str]:
        """What the pool shows a while later."""
        for _ in range(20):
            await self.clock.advance(1)
        found = await self.api.get(MACHINE_CONFIG_POOLS, "infra")
        return {one.type: one.message for one in found.status.conditions}


@pytest.fixture
async def writer(api: KubeClient) -> Writer:
    made = Writer(api)
    made.pools.put(await api.create(MACHINE_CONFIG_POOLS, POOL))
    return made


async def test_nothing_is_written_before_every_feature_has_its_facts(writer: Writer) -> None:
    first, second = writer.contributions.place(), writer.contributions.place()
    async with writer.running():
        first.settle(Contributor(facts("ADegraded", error="it broke")))
        assert await writer.conditions() == {}
        second.settle(Contributor(facts("BDegraded")))
        assert await writer.conditions() == {
            "ADegraded": "it broke",
            "BDegraded": "No errors",
            "Degraded": "it broke",
        }


async def test_a_feature_that_waits_for_its_kinds_keeps_no_other_from_reporting(
    writer: Writer,
) -> None:
    first, second = writer.contributions.place(), writer.contributions.place()
    first.settle(None)
    second.settle(Contributor(facts("BDegraded")))
    async with writer.running():
        assert await writer.conditions() == {"BDegraded": "No errors", "Degraded": "No errors"}
        writer.pools.put(await writer.api.get(MACHINE_CONFIG_POOLS, "infra"))
        first.settle(Contributor(facts("ADegraded", error="it broke")))
        assert (await writer.conditions())["Degraded"] == "it broke"


async def test_facts_are_counted_before_they_are_read(writer: Writer) -> None:
    class Counting(Contributor):
        async def recount(self) -> None:
            self.found = facts(error="counted")

    writer.contributions.place().settle(Counting())
    observed = await writer.reconciler.observe(Key("", "infra"))
    assert observed is not None
    assert [one.message for fact in observed.facts for one in fact.conditions] == ["counted"]


async def test_a_change_of_facts_is_written(writer: Writer) -> None:
    feature = Contributor(facts())
    writer.contributions.place().settle(feature)
    async with writer.running():
        assert await writer.conditions() == {"ADegraded": "No errors", "Degraded": "No errors"}
        feature.found = facts(error="it broke")
        writer.contributions.changed(("other",))
        assert (await writer.conditions())["Degraded"] == "No errors"
        writer.contributions.changed(("infra",))
        assert (await writer.conditions())["Degraded"] == "it broke"


async def test_a_pool_is_not_written_again_before_the_cache_shows_it(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes: list[Any] = []
    apply = writer.api.apply

    async def counted(*arguments: Any, **options: Any) -> Any:
        writes.append(arguments)
        return await apply(*arguments, **options)

    monkeypatch.setattr(writer.api, "apply", counted)
    writer.contributions.place().settle(Contributor(facts()))
    for _ in range(4):
        await writer.reconciler.reconcile(Key("", "infra"))
    assert len(writes) == 1
