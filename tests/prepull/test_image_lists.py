"""The images that kubelets list, read from an API server only when they are wanted."""

import asyncio
import contextlib
import random
from datetime import timedelta

from prometheus_client import CollectorRegistry

from lading.adapters.kube.client import KubeClient
from lading.api.core import NODES
from lading.observability.metrics import Metrics
from lading.prepull.image_lists import NodeImageLists
from tests.prepull.clusters import CLOCK, opened
from tests.prepull.worlds import NOW, A, B


async def test_lists_follow_the_nodes_from_the_time_when_they_are_wanted() -> None:
    async with opened() as cluster:
        await cluster.make_node("node-a")
        status = {
            "conditions": [
                {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-02T00:00:00Z"}
            ],
            "images": [{"names": [A], "sizeBytes": 1}],
        }
        await cluster.kube.patch(NODES, "node-a", {"status": status}, subresource="status")
        lists = NodeImageLists(
            kube=KubeClient(cluster.line),
            clock=CLOCK,
            rng=random.Random(1),
            metrics=Metrics(CollectorRegistry()),
            delay=timedelta(0),
        )
        changed: list[str] = []
        lists.listen(changed.append)
        work = asyncio.create_task(lists.run())
        await asyncio.sleep(0)
        assert lists.get("node-a") is None
        lists.want()

        async def is_known() -> bool:
            return changed == ["node-a"]

        await cluster.until(is_known, "the list is known")
        found = lists.get("node-a")
        assert found is not None
        assert (found.lacks((A,), since=NOW), found.lacks((B,), since=NOW)) == (False, True)
        await cluster.kube.delete(NODES, "node-a")

        async def is_forgotten() -> bool:
            return lists.get("node-a") is None

        await cluster.until(is_forgotten, "the list is forgotten")
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work
