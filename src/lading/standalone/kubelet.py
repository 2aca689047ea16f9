"""The kubelet of an embedded node, as far as clients ask it: its limits and its disk.

Two paths of a kubelet's own API in its own form, so that `lading pin plan` asks as on any cluster.
Beside them are the pages of the node's agent, which has no pod here.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from lading.loop.feature import Page
from lading.ports.http import Request, Response
from lading.ports.kubelet import KubeletLimits
from lading.ports.node import NodeParts


class EmbeddedKubelet(msgspec.Struct, frozen=True):
    """An `Exchange`."""

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
