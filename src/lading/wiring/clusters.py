"""Finds the cluster that a command uses, and opens a client of it."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from lading.adapters.kube import client, connect
from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.connection import Connection
from lading.adapters.kube.retry import REQUESTS_PER_SECOND
from lading.observability.metrics import Metrics
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.http import HttpTransport, Request

_NEEDS_CREDENTIALS = Request(method="GET", path="/api")


def find(
    environment: Mapping[str, str],
    *,
    file: Path | None = None,
    context: str = "",
    namespace: str = "",
) -> Connection:
    return connect.find(environment, file=file, context=context, namespace=namespace)


def client_of(transport: HttpTransport) -> KubeClient:
    """A client of a server in this process."""
    return KubeClient(transport)


@asynccontextmanager
async def open_client(
    connection: Connection,
    clock: Clock,
    *,
    on_warning: Callable[[str], None] = client.ignore_warning,
    metrics: "Metrics | None" = None,
    is_rate_limited: bool = True,
) -> AsyncIterator[KubeClient]:
    def measured(transport: HttpTransport) -> HttpTransport:
        return transport if metrics is None else metrics.measured(transport)

    async with connect.connect(
        connection,
        clock,
        requests_per_second=REQUESTS_PER_SECOND if is_rate_limited else None,
        on_warning=on_warning,
        measured=measured,
    ) as opened:
        yield opened


async def require_credentials(api: KubeClient) -> None:
    """Raises Unauthorized if the cluster refuses the credentials. Does not check rights."""
    try:
        await api.send(_NEEDS_CREDENTIALS)
    except kube.Forbidden:
        return
