"""Asks the agents of nodes for their pages, through the API server.

Over `pods/proxy` of the agent's pod: the API server authenticates the user and checks the right,
and the agent needs no accounts of its own (ADR 11). The nodes of `lading up` have no pods for their
agents; there the stand-in of the kubelet answers.
"""

from lading.adapters.kube.client import KubeClient
from lading.api.core import DAEMON_SETS, PODS, Pod
from lading.api.rbac import CLUSTER_ROLE_BINDINGS
from lading.kernel.objects import Key
from lading.ports import kube
from lading.ports.http import Request
from lading.ports.kube import Selection

AGENT = "lading-agent"
"""The account of the agents, and the ClusterRoleBinding that gives it its rights."""
LABELS = "app.kubernetes.io/name=lading,app.kubernetes.io/component=agent"
PAGE_BYTES_MAX = 4 * 1024 * 1024
"""Of an agent, unpacked: ten times a report of 1,000 images."""


async def agent_pods(client: KubeClient) -> dict[str, Key]:
    """The agents' pods that run, by the names of their nodes; none where agents have no pods.

    Anyone may create a pod or a DaemonSet with these labels in their own namespace, and it must
    not answer for an agent. Only an administrator writes a ClusterRoleBinding, so its subject says
    which namespace is the agents'.
    """
    try:
        namespace = await _namespace(client)
    except kube.NotFound:
        return {}
    agents = Selection(namespace=namespace, label_selector=LABELS)
    daemon_sets = {one.metadata.uid async for one in client.each(DAEMON_SETS, agents)}
    pods = [one async for one in client.each(PODS, agents) if _is_owned(one, daemon_sets)]
    # While a DaemonSet is updated a node may have two; the newest is used.
    pods.sort(key=lambda one: (one.metadata.creation_timestamp, one.metadata.name))
    return {
        one.spec.node_name: one.key
        for one in pods
        if one.spec.node_name and one.status.phase == "Running"
    }


async def page(client: KubeClient, node: str, pod: Key | None, path: str) -> bytes:
    """What the agent of the node answers; `pod` is None where agents have none."""
    place = f"namespaces/{pod.namespace}/pods/{pod.name}" if pod else f"nodes/{node}"
    request = Request(
        method="GET", path=f"/api/v1/{place}/proxy{path}", answer_bytes_max=PAGE_BYTES_MAX
    )
    return await client.send(request)


async def _namespace(client: KubeClient) -> str:
    binding = await client.get(CLUSTER_ROLE_BINDINGS, AGENT)
    found = {
        one.namespace
        for one in binding.subjects or ()
        if one.kind == "ServiceAccount" and one.name == AGENT
    }
    if len(found) != 1:
        what = f"ClusterRoleBinding {AGENT}"
        message = f"{what}: subjects has {len(found)} ServiceAccounts {AGENT}, expected one"
        raise kube.Invalid(message, reason="Invalid")
    return found.pop()


def _is_owned(pod: Pod, daemon_sets: set[str]) -> bool:
    return any(
        one.controller and one.kind == "DaemonSet" and one.uid in daemon_sets
        for one in pod.metadata.owner_references
    )
