"""Asks the agents of nodes for their pages, through the API server.

Over `pods/proxy` of the agent's pod: the API server authenticates the user and checks the right,
and the agent needs no accounts of its own (docs/adr/0011). The nodes of `lading up` have no pods
for their agents; there the stand-in of the kubelet answers.
"""

from lading.adapters.kube.client import KubeClient
from lading.api.core import PODS
from lading.kernel.objects import Key
from lading.ports.http import Request
from lading.ports.kube import Selection

AGENTS = Selection(label_selector="app.kubernetes.io/name=lading,app.kubernetes.io/component=agent")
PAGE_BYTES_MAX = 4 * 1024 * 1024
"""Of an agent, unpacked: ten times a report of 1,000 images."""


async def agent_pods(client: KubeClient) -> dict[str, Key]:
    """The agents' pods that run, by the names of their nodes."""
    return {
        pod.spec.node_name: pod.key
        async for pod in client.each(PODS, AGENTS)
        if pod.spec.node_name and pod.status.phase == "Running"
    }


async def page(client: KubeClient, node: str, pod: Key | None, path: str) -> bytes:
    """What the agent of the node answers; `pod` is None where agents have none."""
    place = f"namespaces/{pod.namespace}/pods/{pod.name}" if pod else f"nodes/{node}"
    return await client.send(
        Request(
            method="GET",
            path=f"/api/v1/{place}/proxy{path}",
            answer_bytes_max=PAGE_BYTES_MAX,
        )
    )
