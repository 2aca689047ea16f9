"""What kubelets report through the API server: their image file system and their limits.

Goes over `nodes/proxy`, which only an administrator has; agents never use it.
"""

import msgspec

from lading.adapters.kube.client import KubeClient
from lading.adapters.kubelet import limits_in
from lading.kernel.errors import UNREADABLE
from lading.kernel.objects import Model
from lading.ports.http import Request
from lading.ports.kube import KubeError
from lading.ports.node import KubeletLimits, Space

ANSWER_BYTES_MAX = 16 * 1024 * 1024
"""Of a kubelet, unpacked: a summary has some 10 kB for each pod, and a node has up to 500 pods."""


class _FileSystem(Model, frozen=True, kw_only=True):
    available_bytes: int
    capacity_bytes: int


class _Runtime(Model, frozen=True, kw_only=True):
    image_fs: _FileSystem


class _Node(Model, frozen=True, kw_only=True):
    runtime: _Runtime


class _Summary(Model, frozen=True, kw_only=True):
    node: _Node


class SpaceUnknown(Exception):
    """The kubelet did not report its image file system; says why."""


class LimitsUnknown(Exception):
    """The kubelet did not report its limits; says why."""


async def space(client: KubeClient, node: str) -> Space:
    """Raises SpaceUnknown when there is no kubelet behind the node, or we may not ask it."""
    try:
        body = await _ask(client, node, "stats/summary")
        found = msgspec.json.decode(body, type=_Summary).node.runtime.image_fs
    except KubeError as error:
        raise SpaceUnknown(str(error)) from error
    except UNREADABLE as error:
        raise SpaceUnknown("the kubelet reports no image file system") from error
    return Space(capacity_bytes=found.capacity_bytes, available_bytes=found.available_bytes)


async def limits(client: KubeClient, node: str) -> KubeletLimits:
    """The kubelet's defaults when it cannot be asked."""
    try:
        return await reported_limits(client, node)
    except LimitsUnknown:
        return KubeletLimits()


async def reported_limits(client: KubeClient, node: str) -> KubeletLimits:
    """Raises LimitsUnknown when there is no kubelet behind the node, or we may not ask it."""
    try:
        return limits_in(await _ask(client, node, "configz"))
    except KubeError as error:
        raise LimitsUnknown(str(error)) from error
    except UNREADABLE as error:
        raise LimitsUnknown("the kubelet reports no limits") from error


async def _ask(client: KubeClient, node: str, path: str) -> bytes:
    request = Request(
        method="GET",
        path=f"/api/v1/nodes/{node}/proxy/{path}",
        answer_bytes_max=ANSWER_BYTES_MAX,
    )
    return await client.send(request)
