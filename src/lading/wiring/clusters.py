"""The way to a cluster: which one is meant, and a client of it."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from lading.adapters.kube import connect
from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.connection import Connection
from lading.observability import requests
from lading.observability.metrics import Metrics
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.http import Exchange, Request

_NEEDS_CREDENTIALS = Request(method="GET", path="/api")


def find(
    environment: Mapping[str, str],
    *,
    file: Path | None = None,
    context: str = "",
    namespace: str = "",
) -> Connection:
    return connect.find(environment, file=file, context=context, namespace=namespace)


def client_of(exchange: Exchange) -> KubeClient:
    """A client of a server in this process."""
    return KubeClient(exchange)


@asynccontextmanager
async def open_client(
    connection: Connection,
    clock: Clock,
    *,
    on_warning: Callable[[str], None],
    metrics: Metrics | None = None,
) -> AsyncIterator[KubeClient]:
    def measured(exchange: Exchange) -> Exchange:
        return exchange if metrics is None else requests.measured(exchange, metrics)

    async with connect.connect(
        connection, clock, on_warning=on_warning, measured=measured
    ) as client:
        yield client


async def require_credentials(client: KubeClient) -> None:
    """Raises Unauthorized when the cluster does not accept ours; which rights we have is open."""
    try:
        await client.send(_NEEDS_CREDENTIALS)
    except kube.Forbidden:
        return
