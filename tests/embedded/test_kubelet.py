"""The Leases of embedded nodes."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from lading.adapters.clock import SystemClock
from lading.api.core import LEASES
from lading.embedded import cluster, kubelet
from lading.embedded.cluster import ClusterOptions, StandaloneCluster
from lading.embedded.node import NodeDescription
from lading.loop import tasks
from lading.ports import kube
from lading.ports.kube import Selection
from tests.e2e import waiting

START = datetime(2020, 1, 1, tzinfo=UTC)


def options(data: Path, *names: str) -> ClusterOptions:
    return ClusterOptions(data=data, nodes=tuple(NodeDescription(name=name) for name in names))


async def renewals(made: StandaloneCluster) -> dict[str, datetime]:
    """When each node renewed its lease last."""
    found = {}
    async for lease in made.kube.each(LEASES, Selection(namespace="kube-node-lease")):
        node = lease.metadata.name
        assert lease.spec.holder_identity == node
        assert lease.spec.lease_duration_seconds == 40
        assert lease.spec.renew_time is not None
        found[node] = datetime.fromisoformat(lease.spec.renew_time)
    return found


async def until_renewed(
    made: StandaloneCluster, nodes: set[str], *, after: datetime = START
) -> datetime:
    """When the last of them did."""

    async def holds() -> bool:
        found = await renewals(made)
        return nodes == found.keys() and min(found.values()) > after

    await waiting.until(holds, f"{nodes} renew their leases")
    return max((await renewals(made)).values())


async def test_each_node_renews_its_lease(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubelet, "RENEW_SECONDS", 0.1)
    opened = cluster.open_cluster(options(tmp_path, "a", "b"), SystemClock())
    async with opened as made, tasks.started(made.run()):
        first = await until_renewed(made, {"a", "b"})
        await until_renewed(made, {"a", "b"}, after=first)


async def test_a_node_that_no_longer_runs_has_no_lease(tmp_path: Path) -> None:
    opened = cluster.open_cluster(options(tmp_path, "a", "b"), SystemClock())
    async with opened as made, tasks.started(made.run()):
        await until_renewed(made, {"a", "b"})
    async with cluster.open_cluster(options(tmp_path, "a"), SystemClock()) as made:
        assert (await renewals(made)).keys() == {"a"}


async def test_a_lease_that_is_refused_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubelet, "RENEW_SECONDS", 0.05)
    async with cluster.open_cluster(options(tmp_path, "a"), SystemClock()) as made:
        calls = 0
        apply = type(made.kube).apply

        async def flaky(self: object, *args: object, **more: object) -> object:
            nonlocal calls
            calls += 1
            if calls == 1:
                raise kube.Unavailable("the disk is full")
            return await apply(self, *args, **more)  # type: ignore[arg-type]

        monkeypatch.setattr(type(made.kube), "apply", flaky)
        async with tasks.started(kubelet.renew_leases(made.kube, ["a"], SystemClock())):
            await until_renewed(made, {"a"})
        assert calls > 1
