"""What agents answer now, for commands and the dashboard: how far they are, and what would go.

A user who may not ask, or reaches no agent, gets fewer answers and no error: the reports of the
nodes have the same progress a little later.
"""

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

import msgspec

from lading.adapters.kube import agent_proxy
from lading.adapters.kube.client import KubeClient
from lading.kernel.errors import UNREADABLE
from lading.kernel.objects import Key
from lading.pinned_images import live
from lading.pinned_images.progress import PROGRESS_PATH, Progress
from lading.pinned_images.rows import Row
from lading.ports.kube import KubeError

if TYPE_CHECKING:
    from lading.runtime_images.report import CollectionReport

T = TypeVar("T")
ASK_SECONDS_MAX = 2.0
"""An agent that answers at all answers at once; a table must not wait for one that does not."""
ASKED_AT_ONCE_MAX = 10


class LiveProgress:
    """Remembers the pods of agents, and looks for them again when one does not answer."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._pods: dict[str, Key] | None = None

    async def rows(self, found: Iterable[Row]) -> list[Row]:
        """The rows with what the agents of unfinished nodes answer."""
        found = list(found)
        return live.with_progress(found, await self.progress(live.nodes_to_ask(found)))

    async def progress(self, nodes: Iterable[str]) -> dict[str, Progress]:
        """The answers by node; nodes that do not answer are left out."""
        return await self._answers(nodes, PROGRESS_PATH, Progress)

    async def collection(self, node: str) -> "CollectionReport | None":
        """What garbage collection would take on the node; None when its agent does not answer."""
        from lading.runtime_images.report import (  # only the page asks
            COLLECTION_PATH,
            CollectionReport,
        )

        return (await self._answers((node,), COLLECTION_PATH, CollectionReport)).get(node)

    async def _answers(self, nodes: Iterable[str], path: str, form: type[T]) -> dict[str, T]:
        wanted = tuple(nodes)
        if not wanted:
            return {}
        try:
            if self._pods is None:
                self._pods = await agent_proxy.agent_pods(self._client)
        except KubeError:
            return {}
        slots = asyncio.Semaphore(ASKED_AT_ONCE_MAX)
        pods = self._pods
        answers = await asyncio.gather(
            *(self._ask(node, pods, path, form, slots) for node in wanted)
        )
        if None in answers:
            self._pods = None
        return {node: one for node, one in zip(wanted, answers, strict=True) if one is not None}

    async def _ask(
        self, node: str, pods: dict[str, Key], path: str, form: type[T], slots: asyncio.Semaphore
    ) -> T | None:
        if pods and node not in pods:
            return None
        try:
            async with slots, asyncio.timeout(ASK_SECONDS_MAX):
                body = await agent_proxy.page(self._client, node, pods.get(node), path)
            return msgspec.json.decode(body, type=form | None)
        except (KubeError, TimeoutError, *UNREADABLE):
            return None
