"""Asks agents directly for their progress and for what garbage collection would remove.

An agent that does not answer, or that the user may not ask, is left out without an error: the
status of its node has the same progress a little later.
"""

import asyncio
from collections.abc import Iterable
from typing import TypeVar

import msgspec

from lading.adapters.kube import agent_proxy
from lading.adapters.kube.client import KubeClient
from lading.kernel.errors import UNREADABLE
from lading.kernel.objects import Key
from lading.pinned_images import rows
from lading.pinned_images.rows import Row
from lading.pinned_images.types import PROGRESS_PATH, Progress
from lading.ports.kube import KubeError
from lading.runtime_images.report import COLLECTION_PATH, CollectionReport

T = TypeVar("T")
ASK_SECONDS_MAX = 2.0
"""A table must not wait long for an agent that does not answer."""
ASKED_AT_ONCE_MAX = 10


class LiveProgress:
    """Caches the pods of agents. Lists them again after one did not answer."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._pods: dict[str, Key] | None = None

    async def rows(self, found: Iterable[Row]) -> list[Row]:
        """Adds the progress of agents to the rows of unfinished nodes."""
        found = list(found)
        return rows.with_progress(found, await self.progress(rows.nodes_to_ask(found)))

    async def progress(self, nodes: Iterable[str]) -> dict[str, Progress]:
        """The progress by node, without the nodes that do not answer."""
        return await self._answers(nodes, PROGRESS_PATH, Progress)

    async def collection(self, node: str) -> CollectionReport | None:
        """What garbage collection would remove on the node; None if its agent does not answer."""
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
