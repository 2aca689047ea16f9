"""An API server that can be made to fail, for kinds or as a whole."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from lading.adapters.kube.client import KubeClient
from lading.kernel.objects import Resource
from lading.ports import kube
from lading.ports.kube import EVERYTHING, Page, Selection, WatchEvent


class BrokenKube:
    """The API server behind it, unless `error` is raised for a kind."""

    def __init__(self, api: KubeClient) -> None:
        self._api = api
        self.errors: dict[Resource[Any], kube.KubeError] = {}
        self.watches: list[str] = []
        self.broken = asyncio.Event()

    async def page(
        self, resource: Resource[Any], selection: Selection = EVERYTHING, **more: Any
    ) -> Page[Any]:
        if resource in self.errors:
            raise self.errors[resource]
        return await self._api.page(resource, selection, **more)

    async def watch(
        self, resource: Resource[Any], selection: Selection = EVERYTHING, **more: Any
    ) -> AsyncIterator[WatchEvent[Any]]:
        self.watches.append(resource.plural)
        if resource in self.errors:
            raise self.errors[resource]
        async for event in self._api.watch(resource, selection, **more):
            yield event
            if self.broken.is_set():
                raise self.errors[resource]

    async def get(self, *given: Any, **more: Any) -> Any:
        return await self._api.get(*given, **more)

    create = patch = apply = delete = get
