"""Reads what a cluster claims about its only node, and the runtime itself in between."""

import asyncio
from dataclasses import dataclass

from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.ports import cri, kube
from tests.e2e.cluster import ClusterUnderTest, NodeUnderTest
from tests.e2e.judge import Claimed, Judge

ANSWER_SECONDS_MAX = 5.0
LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimWatch:
    cluster: ClusterUnderTest
    judge: Judge

    async def watch(self) -> None:
        """Looks again and again, until it is cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        beginning = self.judge.begin()
        before = await self._claimed()
        pinned = await self._pinned()
        if pinned is not None:
            after = await self._claimed()
            self.judge.judge(beginning, before=before, pinned=pinned, after=after)

    async def _claimed(self) -> Claimed | None:
        """None while the API server does not answer."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS_MAX):
                sets = (await self.cluster.kube.page(PINNED_IMAGE_SETS)).items
                reported = await self.cluster.machine_config_node(self._node)
        except (kube.KubeError, TimeoutError):
            return None
        return self.judge.claimed(sets, reported)

    async def _pinned(self) -> set[str] | None:
        """None while the runtime does not answer."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS_MAX):
                return await self._node.pinned()
        except (cri.Transient, TimeoutError):
            return None

    @property
    def _node(self) -> NodeUnderTest:
        (node,) = self.cluster.nodes
        return node
