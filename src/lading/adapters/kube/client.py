"""The Kubernetes API over any HTTP transport: implements `ports.kube.Kube`, and a little more.

Reads are decoded into the type of the resource; writes are plain dictionaries. A namespaced
resource without a namespace means all namespaces when reading. Where the requests go, with which
credentials, how often and how fast is for the transport (`connect`, `retry`, `limiter`).
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, TypeVar

import msgspec

from lading.adapters.kube import decoding, errors, requests
from lading.kernel.objects import Resource
from lading.ports.http import HttpTransport, Request, Response
from lading.ports.kube import (
    EVERYTHING,
    PAGE_OBJECTS_MAX,
    Page,
    PatchType,
    Selection,
    WatchEvent,
)

T = TypeVar("T")
_SUCCESS_CODE_MAX = 299


def ignore_warning(_warning: str) -> None:
    """Warnings of the server (deprecated versions, unknown fields) are dropped by default."""


class KubeClient:
    def __init__(
        self,
        transport: HttpTransport,
        *,
        on_warning: Callable[[str], None] = ignore_warning,
    ) -> None:
        self._transport = transport
        self._on_warning = on_warning

    async def send(self, request: Request) -> bytes:
        """Any request of the API; gives the body of a success and raises everything else."""
        return await decoding.whole((await self._exchanged(request)).body)

    async def answer(self, request: Request) -> Response:
        """The whole answer, for callers that need its headers; everything but a success raises."""
        return await self._exchanged(request)

    async def get(
        self, resource: Resource[T], name: str, *, namespace: str = "", subresource: str = ""
    ) -> T:
        path = requests.object_path(resource, name, namespace=namespace, subresource=subresource)
        request = Request(method="GET", path=path, headers=requests.accept(resource))
        return await self._decoded(resource, request)

    async def page(
        self,
        resource: Resource[T],
        selection: Selection = EVERYTHING,
        *,
        limit: int = PAGE_OBJECTS_MAX,
        continue_token: str = "",
    ) -> Page[T]:
        request = requests.page(resource, selection, limit=limit, continue_token=continue_token)
        body = await self.send(request)
        return decoding.decode_page(resource, body, what=requests.described(request))

    async def each(
        self,
        resource: Resource[T],
        selection: Selection = EVERYTHING,
        *,
        limit: int = PAGE_OBJECTS_MAX,
    ) -> AsyncGenerator[T, None]:
        """Every object, page after page, all of one revision; Gone when that takes too long."""
        page = await self.page(resource, selection, limit=limit)
        for item in page.items:
            yield item
        while page.continue_token:
            page = await self.page(
                resource, selection, limit=limit, continue_token=page.continue_token
            )
            for item in page.items:
                yield item

    async def watch(
        self,
        resource: Resource[T],
        selection: Selection = EVERYTHING,
        *,
        resource_version: str = "",
        send_initial_events: bool = False,
        timeout_seconds: int,
    ) -> AsyncGenerator[WatchEvent[T], None]:
        request = requests.watch(
            resource,
            selection,
            resource_version=resource_version,
            send_initial_events=send_initial_events,
            timeout_seconds=timeout_seconds,
        )
        what = requests.described(request)
        response = await self._exchanged(request)
        lines = decoding.Lines()
        async with decoding.chunks(response.body) as chunks:
            async for chunk in chunks:
                for line in lines.feed(chunk):
                    yield decoding.decode_event(resource, line, what=what)
        lines.finish()

    async def create(
        self,
        resource: Resource[T],
        body: Mapping[str, Any],
        *,
        namespace: str = "",
        name: str = "",
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
        field_validation: str = "",
    ) -> T:
        """With a name and a subresource it posts to that (`token`, `eviction`, `binding`)."""
        request = requests.create(
            resource,
            body,
            namespace=namespace,
            name=name,
            subresource=subresource,
            query=requests.write_options(dry_run, field_validation, field_manager),
        )
        return await self._decoded(resource, request)

    async def patch(
        self,
        resource: Resource[T],
        name: str,
        patch: Any,
        *,
        namespace: str = "",
        patch_type: PatchType = PatchType.MERGE,
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
        field_validation: str = "",
    ) -> T:
        request = Request(
            method="PATCH",
            path=requests.object_path(resource, name, namespace=namespace, subresource=subresource),
            query=requests.write_options(dry_run, field_validation, field_manager),
            headers={"content-type": patch_type},
            body=msgspec.json.encode(patch),
        )
        return await self._decoded(resource, request)

    async def apply(
        self,
        resource: Resource[T],
        body: Mapping[str, Any],
        *,
        field_manager: str,
        force: bool = False,
        subresource: str = "",
        dry_run: bool = False,
        field_validation: str = "",
    ) -> T:
        request = requests.apply(
            resource,
            body,
            subresource=subresource,
            query=(
                ("fieldManager", field_manager),
                ("force", "true" if force else "false"),
                *requests.write_options(dry_run, field_validation),
            ),
        )
        return await self._decoded(resource, request)

    async def delete(
        self,
        resource: Resource[Any],
        name: str,
        *,
        namespace: str = "",
        uid: str = "",
        resource_version: str = "",
        propagation: str = "Background",
        grace_seconds: int | None = None,
        dry_run: bool = False,
    ) -> None:
        request = Request(
            method="DELETE",
            path=requests.object_path(resource, name, namespace=namespace),
            headers=requests.JSON_HEADERS,
            body=requests.delete_options(
                uid=uid,
                resource_version=resource_version,
                propagation=propagation,
                grace_seconds=grace_seconds,
                dry_run=dry_run,
            ),
        )
        await self.send(request)

    async def delete_collection(
        self,
        resource: Resource[Any],
        selection: Selection,
        *,
        propagation: str = "Background",
        dry_run: bool = False,
    ) -> None:
        """Deletes what is selected in one namespace, or of a cluster-scoped resource."""
        request = Request(
            method="DELETE",
            path=requests.collection_path(resource, selection.namespace),
            query=requests.selectors(selection),
            headers=requests.JSON_HEADERS,
            body=requests.delete_options(propagation=propagation, dry_run=dry_run),
        )
        await self.send(request)

    async def _decoded(self, resource: Resource[T], request: Request) -> T:
        body = await self.send(request)
        return decoding.decode_object(resource, body, what=requests.described(request))

    async def _exchanged(self, request: Request) -> Response:
        response = await self._transport(request)
        if response.status > _SUCCESS_CODE_MAX:
            body = await decoding.whole(response.body)
            what = requests.described(request)
            raise errors.of_response(what=what, code=response.status, body=body)
        for warning in requests.warnings(response.headers.get("warning", "")):
            self._on_warning(warning)
        return response
