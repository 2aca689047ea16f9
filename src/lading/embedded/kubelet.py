"""The kubelet of an embedded node: its Lease, its limits, and the state of its disk.

It serves two paths of a kubelet's own API, so that `lading pin plan` works as on any cluster, and
the pages of the agent, which has no pod here.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

import msgspec
import structlog

from lading.api.core import LEASES, NODES
from lading.loop.feature import Page
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.http import Request, Response
from lading.ports.kube import Kube
from lading.ports.node import KubeletLimits, NodeParts

FIELD_MANAGER = "lading-standalone"
LEASE_NAMESPACE = "kube-node-lease"
LEASE_SECONDS = 40  # the kubelet's nodeLeaseDurationSeconds
RENEW_SECONDS = 10.0  # the kubelet renews after a quarter of that time

log = structlog.get_logger(__name__)


class EmbeddedKubelet(msgspec.Struct, frozen=True):
    """An `HttpTransport`."""

    parts: NodeParts
    pages: Callable[[], Mapping[str, Page]] = dict

    async def __call__(self, request: Request) -> Response:
        match request.method, request.path:
            case "GET", "/configz":
                return _json(_configuration(await self.parts.kubelet.limits()))
            case "GET", "/stats/summary":
                return _json({"node": {"runtime": {"imageFs": await self._image_filesystem()}}})
            case "GET", path if path in (pages := self.pages()):
                return _json(await pages[path]())
            case _:
                headers = {"content-type": "text/plain; charset=utf-8"}
                return Response(status=404, headers=headers, body=b"404 page not found\n")

    async def _image_filesystem(self) -> dict[str, int]:
        (usage,) = (await self.parts.runtime.cri.filesystems()).images
        space = await self.parts.disk.space(usage.mountpoint)
        assert space is not None, "the runtime knows its own file system"
        return {
            "availableBytes": space.available_bytes,
            "capacityBytes": space.capacity_bytes,
            "usedBytes": usage.used_bytes,
        }


def _configuration(limits: KubeletLimits) -> dict[str, Any]:
    return {
        "kubeletconfig": {
            "imageGCHighThresholdPercent": limits.image_gc_high_threshold_percent,
            "evictionHard": dict(limits.eviction_hard),
        }
    }


def _json(document: Any) -> Response:
    headers = {"content-type": "application/json"}
    return Response(status=200, headers=headers, body=msgspec.json.encode(document))


async def renew_leases(client: Kube, nodes: Iterable[str], clock: Clock) -> None:
    """Renews the Leases of the nodes until cancelled."""
    names = tuple(nodes)
    while True:
        await asyncio.gather(*(_renew_lease(client, name, clock) for name in names))
        await clock.sleep(RENEW_SECONDS)


async def _renew_lease(client: Kube, name: str, clock: Clock) -> None:
    lease = {
        "apiVersion": LEASES.api_version,
        "kind": LEASES.kind,
        "metadata": {"name": name, "namespace": LEASE_NAMESPACE},
        "spec": {
            "holderIdentity": name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        },
    }
    try:
        await client.apply(LEASES, lease, field_manager=FIELD_MANAGER, force=True)
    except kube.KubeError as error:
        log.warning("lease not renewed; next attempt in 10 s", node=name, error=str(error))


async def unregister(client: Kube, name: str) -> None:
    """Deletes the Node and its Lease."""
    with suppress(kube.NotFound):
        await client.delete(NODES, name)
    with suppress(kube.NotFound):
        await client.delete(LEASES, name, namespace=LEASE_NAMESPACE)
