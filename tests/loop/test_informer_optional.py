"""The cache of a kind that the cluster may not have: read until it is served, watched from then."""

import random
from typing import Any

import pytest

from lading.adapters.clock import VirtualClock, settle
from lading.adapters.kube.client import KubeClient
from lading.api import loose
from lading.api.apiextensions import CUSTOM_RESOURCE_DEFINITIONS
from lading.api.openshift_config import CLUSTER_VERSIONS, ClusterVersion
from lading.loop import tasks
from lading.loop.informer import RECHECK, Informers, OptionalInformer
from tests.loop.faults import Link

LONGEST_SECONDS = RECHECK.seconds_max * (1 + RECHECK.jitter_fraction)


@pytest.fixture
async def versions(
    link: Link, clock: VirtualClock, rng: random.Random, informers: Informers
) -> OptionalInformer[ClusterVersion]:
    return OptionalInformer(
        kube=KubeClient(link), clock=clock, rng=rng, informers=informers, resource=CLUSTER_VERSIONS
    )


async def install(kube: KubeClient) -> None:
    (manifest,) = (
        one for one in loose.manifests() if one["spec"]["names"]["kind"] == CLUSTER_VERSIONS.kind
    )
    await kube.create(CUSTOM_RESOURCE_DEFINITIONS, manifest)


async def make(kube: KubeClient) -> None:
    body: dict[str, Any] = {"metadata": {"name": "version"}}
    identity = {"apiVersion": CLUSTER_VERSIONS.api_version, "kind": CLUSTER_VERSIONS.kind}
    await kube.create(CLUSTER_VERSIONS, {**identity, **body})


async def test_a_kind_that_is_not_served_has_no_objects_and_delays_nothing(
    versions: OptionalInformer[ClusterVersion], informers: Informers, clock: VirtualClock
) -> None:
    async with tasks.started(informers.run()), tasks.started(versions.run()):
        await settle()
        assert await versions.get("version") is None
        assert informers.unsynced() == ()
        await informers.wait_synced()


async def test_before_it_is_watched_an_object_is_read(
    versions: OptionalInformer[ClusterVersion], kube: KubeClient
) -> None:
    await install(kube)
    await make(kube)
    assert await versions.get("version") is not None


async def test_once_watched_it_is_read_no_more(
    versions: OptionalInformer[ClusterVersion], informers: Informers, kube: KubeClient, link: Link
) -> None:
    await install(kube)
    async with tasks.started(informers.run()), tasks.started(versions.run()):
        await settle()
        served = len(link.served)
        assert await versions.get("version") is None
        await make(kube)
        await settle()
        assert await versions.get("version") is not None
        assert len(link.served) == served


async def test_a_kind_that_comes_later_is_noticed_and_its_changes_are_passed_on(
    versions: OptionalInformer[ClusterVersion],
    informers: Informers,
    kube: KubeClient,
    clock: VirtualClock,
) -> None:
    seen: list[str] = []
    versions.add_handler(lambda old, new: seen.append(new.metadata.name if new else ""))
    async with tasks.started(informers.run()), tasks.started(versions.run()):
        await clock.advance(10 * LONGEST_SECONDS)
        await install(kube)
        await make(kube)
        assert seen == []
        await clock.advance(LONGEST_SECONDS)
        await settle()
        assert seen == ["version"]
        late: list[str] = []
        versions.add_handler(lambda old, new: late.append(new.metadata.name if new else ""))
        assert late == ["version"]


async def test_an_api_server_that_is_down_is_asked_again(
    versions: OptionalInformer[ClusterVersion],
    informers: Informers,
    kube: KubeClient,
    link: Link,
    clock: VirtualClock,
) -> None:
    await install(kube)
    await make(kube)
    link.is_down = True
    async with tasks.started(informers.run()), tasks.started(versions.run()):
        await settle()
        link.is_down = False
        await clock.advance(LONGEST_SECONDS)
        await settle()
        served = len(link.served)
        assert await versions.get("version") is not None
        assert len(link.served) == served


async def test_a_kind_that_never_comes_is_asked_for_ever_more_rarely(
    versions: OptionalInformer[ClusterVersion],
    informers: Informers,
    link: Link,
    clock: VirtualClock,
) -> None:
    async with tasks.started(informers.run()), tasks.started(versions.run()):
        await clock.advance(20 * LONGEST_SECONDS)
        before = len(link.served)
        await clock.advance(10 * LONGEST_SECONDS)
        assert 10 <= len(link.served) - before <= 16
