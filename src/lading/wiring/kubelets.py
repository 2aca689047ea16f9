"""What the kubelet of a node reports about its image disk, asked through the API server."""

from lading.adapters.kube import kubelet_proxy
from lading.adapters.kube.client import KubeClient
from lading.ports.disk import Space
from lading.ports.kubelet import KubeletLimits


class KubeletSilent(Exception):
    """There is no kubelet behind the node, or we may not ask it; says why."""


async def image_disk(client: KubeClient, node: str) -> tuple[KubeletLimits, Space]:
    try:
        limits = await kubelet_proxy.reported_limits(client, node)
        return limits, await kubelet_proxy.space(client, node)
    except (kubelet_proxy.LimitsUnknown, kubelet_proxy.SpaceUnknown) as error:
        raise KubeletSilent(str(error)) from error
