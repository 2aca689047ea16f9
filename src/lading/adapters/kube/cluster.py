"""The `Cluster` port on a Kubernetes client: discovery, untyped pages, watches, status updates."""

import email.utils
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from lading.adapters.kube import decoding, discovery, requests
from lading.adapters.kube.client import KubeClient
from lading.api.core import NAMESPACES
from lading.ports import kube
from lading.ports.http import Request
from lading.ports.kube import EVERYTHING, Page, Untyped, WatchEvent


class KubeCluster:
    def __init__(self, client: KubeClient, *, address: str) -> None:
        self._client = client
        self._address = address

    async def identity(self) -> str:
        try:
            namespace = await self._client.get(NAMESPACES, "kube-system")
        except (kube.Forbidden, kube.NotFound):
            return self._address
        return namespace.metadata.uid or self._address

    async def server_time(self) -> datetime | None:
        response = await self._client.answer(Request(method="GET", path="/version"))
        try:
            found = email.utils.parsedate_to_datetime(response.headers.get("date", ""))
        except (ValueError, TypeError):
            return None
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)

    async def kinds(self) -> tuple[Untyped, ...]:
        catalogue = await discovery.discover(self._client)
        if catalogue.stale_groups:
            groups = ", ".join(catalogue.stale_groups)
            raise kube.Unavailable(
                f"discovery of API group {groups} failed; is its server running?"
            )
        preferred: dict[tuple[str, str], Untyped] = {}
        for served in catalogue.served:
            resource = served.resource
            preferred.setdefault((resource.group, resource.plural), resource)
        return tuple(preferred.values())

    async def page(
        self, resource: Untyped, *, limit: int, continue_token: str = ""
    ) -> Page[dict[str, Any]]:
        return await self._client.page(resource, limit=limit, continue_token=continue_token)

    def watch(
        self, resource: Untyped, *, resource_version: str, timeout_seconds: int
    ) -> AsyncIterator[WatchEvent[dict[str, Any]]]:
        return self._client.watch(
            resource, resource_version=resource_version, timeout_seconds=timeout_seconds
        )

    async def check_watch(self, resource: Untyped, *, resource_version: str) -> None:
        request = requests.watch(
            resource,
            EVERYTHING,
            resource_version=resource_version,
            send_initial_events=False,
            timeout_seconds=1,
        )
        response = await self._client.answer(request)
        async with decoding.chunks(response.body):
            pass  # the answer is enough

    async def get(self, resource: Untyped, name: str, *, namespace: str = "") -> dict[str, Any]:
        return await self._client.get(resource, name, namespace=namespace)

    async def replace_status(self, resource: Untyped, body: Mapping[str, Any]) -> None:
        metadata = body["metadata"]
        path = resource.path(
            namespace=metadata.get("namespace", ""), name=metadata["name"], subresource="status"
        )
        await self._client.send(
            Request(
                method="PUT",
                path=path,
                headers={"content-type": "application/json"},
                body=msgspec.json.encode(body),
            )
        )

    async def delete(self, resource: Untyped, name: str) -> None:
        await self._client.delete(resource, name)
