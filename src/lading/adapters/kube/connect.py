"""Finds the API server that a person or a pod means, and gives a client for it.

A file that is named wins; then KUBECONFIG or the file in the home folder; then the pod's own
service account. What a client consists of (retries, rate limit, network) is put together here.
"""

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

from lading.adapters.kube import client, connection, kubeconfig
from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.connection import Connection, NothingConfigured
from lading.adapters.kube.retry import (
    BURST_REQUESTS,
    REQUESTS_PER_SECOND,
    RateLimited,
    Retrying,
    TokenBucket,
)
from lading.adapters.kube.transport import NetworkTransport
from lading.kernel.values import replace
from lading.ports.clock import Clock
from lading.ports.http import HttpTransport


def find(
    environment: Mapping[str, str],
    *,
    file: Path | None = None,
    context: str = "",
    namespace: str = "",
) -> Connection:
    found = _find(environment, file, context)
    return replace(found, namespace=namespace) if namespace else found


@contextlib.asynccontextmanager
async def connect(
    connection: Connection,
    clock: Clock,
    *,
    requests_per_second: float | None = REQUESTS_PER_SECOND,
    burst_requests: int = BURST_REQUESTS,
    on_warning: Callable[[str], None] = client.ignore_warning,
    measured: Callable[[HttpTransport], HttpTransport] = lambda transport: transport,
) -> AsyncIterator[KubeClient]:
    """`measured` stands between the network and everything that waits or retries.

    Without `requests_per_second` nothing waits: for the few requests that must not, such as the
    renewal of a lease.
    """
    async with NetworkTransport(connection, clock) as network:
        transport = measured(network)
        if requests_per_second is not None:
            bucket = TokenBucket(clock, per_second=requests_per_second, burst=burst_requests)
            transport = RateLimited(transport, bucket)
        yield KubeClient(Retrying(transport, clock), on_warning=on_warning)


def _find(environment: Mapping[str, str], file: Path | None, context: str) -> Connection:
    if file is not None:
        return kubeconfig.load([file]).connection(context=context)
    files = kubeconfig.paths(environment)
    if any(candidate.exists() for candidate in files):
        return kubeconfig.load(files).connection(context=context)
    if connection.is_in_pod(environment):
        return connection.of_pod(environment)
    tried = ", ".join(map(str, files))
    raise NothingConfigured(
        f"no cluster is configured: {tried} does not exist, and this is not a pod; name the"
        " kubeconfig of a cluster with --kubeconfig or KUBECONFIG"
    )
