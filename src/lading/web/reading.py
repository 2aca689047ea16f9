"""A read-only client that reports the state of each kind and of the connection.

A kind that is missing or forbidden is a fact that the page shows, like any other.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from enum import StrEnum
from typing import Any, TypeVar

from lading.kernel.objects import Resource
from lading.ports import kube
from lading.ports.kube import EVERYTHING, PAGE_OBJECTS_MAX, Kube, Page, Selection, WatchEvent

T = TypeVar("T")
EVENTS_PER_TURN = 16  # a Node with 50 images takes a quarter of a millisecond; then others' turn


class KindState(StrEnum):
    WAITING = "waiting"
    """The page waits for the first list."""
    SERVED = "served"
    """The kind is watched."""
    MISSING = "missing"
    """The cluster does not serve the kind."""
    FORBIDDEN = "forbidden"
    """Your account may not list and watch the kind."""
    REFUSED = "refused"
    """The API server refuses for another reason."""


Report = Callable[[Resource[Any], kube.KubeError | None], None]


class ReadingKube:
    """Forwards reads and reports their results. A write is a bug of the dashboard."""

    def __init__(self, client: Kube, report: Report) -> None:
        self._client = client
        self._report = report

    async def get(self, resource: Resource[T], name: str, *, namespace: str = "") -> T:
        return await self._client.get(resource, name, namespace=namespace)

    async def page(
        self,
        resource: Resource[T],
        selection: Selection = EVERYTHING,
        *,
        limit: int = PAGE_OBJECTS_MAX,
        continue_token: str = "",
    ) -> Page[T]:
        try:
            found = await self._client.page(
                resource, selection, limit=limit, continue_token=continue_token
            )
        except kube.KubeError as error:
            self._report(resource, error)
            raise
        self._report(resource, None)
        return found

    async def watch(
        self,
        resource: Resource[T],
        selection: Selection = EVERYTHING,
        *,
        resource_version: str = "",
        send_initial_events: bool = False,
        timeout_seconds: int,
    ) -> AsyncIterator[WatchEvent[T]]:
        is_first, turn = True, 0
        try:
            async for event in self._client.watch(
                resource,
                selection,
                resource_version=resource_version,
                send_initial_events=send_initial_events,
                timeout_seconds=timeout_seconds,
            ):
                if is_first:
                    self._report(resource, None)
                    is_first = False
                yield event
                turn += 1
                if turn % EVENTS_PER_TURN == 0:
                    await asyncio.sleep(0)
        except kube.KubeError as error:
            self._report(resource, error)
            raise

    async def _refuse(self, *_given: Any, **_named: Any) -> Any:
        raise AssertionError("the dashboard only reads")

    create = patch = apply = delete = _refuse


def state_after(error: kube.KubeError | None) -> KindState | None:
    """The state of a kind after a request; None if the request does not show it."""
    match error:
        case None:
            return KindState.SERVED
        case kube.NotFound():
            return KindState.MISSING
        case kube.Forbidden():
            return KindState.FORBIDDEN
        case kube.Transient() | kube.Gone() | kube.Invalid():
            return None
        case _:
            return KindState.REFUSED
