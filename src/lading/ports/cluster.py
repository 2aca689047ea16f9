"""A whole cluster as the pruner sees it: which kinds it serves, every object, and changes."""

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any, Protocol

from lading.kernel.objects import Resource
from lading.ports.kube import Page, WatchEvent

Untyped = Resource[dict[str, Any]]


class Cluster(Protocol):
    """Raises the errors of `ports.kube`."""

    async def identity(self) -> str:
        """The UID of the namespace kube-system; the server's address where that is hidden."""

    async def server_time(self) -> datetime | None:
        """The clock of the API server; None when it does not say."""

    async def kinds(self) -> tuple[Untyped, ...]:
        """One version of every kind. An API group that does not answer is an error."""

    async def page(
        self, resource: Untyped, *, limit: int, continue_token: str = ""
    ) -> Page[dict[str, Any]]: ...

    def watch(
        self, resource: Untyped, *, resource_version: str, timeout_seconds: int
    ) -> AsyncIterator[WatchEvent[dict[str, Any]]]: ...

    async def check_watch(self, resource: Untyped, *, resource_version: str) -> None:
        """Raises what a watch would raise at its start, such as Forbidden."""

    async def get(self, resource: Untyped, name: str, *, namespace: str = "") -> dict[str, Any]: ...

    async def replace_status(self, resource: Untyped, body: Mapping[str, Any]) -> None:
        """Fails with Conflict when the object has another resourceVersion than the body."""

    async def delete(self, resource: Untyped, name: str) -> None: ...
