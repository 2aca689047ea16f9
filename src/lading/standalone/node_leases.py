"""The Leases of embedded nodes, which a kubelet renews as its heartbeat."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress

import structlog

from lading.api.coordination import LEASES
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.kube import Kube
from lading.standalone.node import FIELD_MANAGER

NAMESPACE = "kube-node-lease"
DURATION_SECONDS = 40  # the kubelet's nodeLeaseDurationSeconds
RENEW_SECONDS = 10.0  # a quarter of it, as the kubelet does

log = structlog.get_logger(__name__)


async def renew(client: Kube, nodes: Iterable[str], clock: Clock) -> None:
    """Until cancelled: the nodes are alive while this process runs."""
    names = tuple(nodes)
    while True:
        await asyncio.gather(*(_renew(client, name, clock) for name in names))
        await clock.sleep(RENEW_SECONDS)


async def _renew(client: Kube, name: str, clock: Clock) -> None:
    lease = {
        "apiVersion": LEASES.api_version,
        "kind": LEASES.kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "holderIdentity": name,
            "leaseDurationSeconds": DURATION_SECONDS,
            "renewTime": clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        },
    }
    try:
        await client.apply(LEASES, lease, field_manager=FIELD_MANAGER, force=True)
    except kube.KubeError as error:
        log.warning("lease not renewed; next attempt in 10 s", node=name, error=str(error))


async def forget(client: Kube, node: str) -> None:
    with suppress(kube.NotFound):
        await client.delete(LEASES, node, namespace=NAMESPACE)
