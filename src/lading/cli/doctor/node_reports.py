"""What the nodes of a cluster report: their agents, their versions, and their kubelets' limits."""

from collections.abc import AsyncIterator, Sequence

from lading.adapters.kube.client import KubeClient
from lading.api.core import NODES, Node
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.cli import output
from lading.cli.doctor import findings
from lading.cli.doctor.findings import CheckFinding
from lading.kernel import quantities
from lading.pinned_images.node import skew
from lading.ports import kube
from lading.ports.disk import Space
from lading.ports.kubelet import KubeletLimits
from lading.wiring import kubelets
from lading.wiring.kubelets import KubeletSilent

NODES_ASKED_MAX = 20
NEAR_PERCENT = 5
"""So many points below the threshold a person should act before the kubelet does."""
_FREE_SPACE = "see docs/recovering-disk-space.md"


async def nodes(client: KubeClient) -> AsyncIterator[CheckFinding]:
    found = [one async for one in client.each(NODES)]
    silent = await _silent(client, found)
    if silent:
        step = "check the pods of the agents there: kubectl -n lading-agents get pods -o wide"
        sentence = f"{len(silent)} of {len(found)} nodes do not report: {output.names(silent)}."
        yield findings.failed("Nodes", sentence, step)
    else:
        yield findings.ok("Nodes", f"{len(found)} of {len(found)} nodes have a MachineConfigNode.")
    for one in found:
        if why := skew.pins_ignored(one.status.node_info.kubelet_version):
            yield findings.warning("Nodes", f"{one.metadata.name}: {why}.", "upgrade the kubelet")


async def _silent(client: KubeClient, found: Sequence[Node]) -> list[str]:
    try:
        reports = {one.metadata.name async for one in client.each(MACHINE_CONFIG_NODES)}
    except kube.NotFound:
        reports = set()
    return [one.metadata.name for one in found if one.metadata.name not in reports]


async def limits(client: KubeClient) -> AsyncIterator[CheckFinding]:
    names = [one.metadata.name async for one in client.each(NODES)]
    for name in names[:NODES_ASKED_MAX]:
        try:
            limit, space = await kubelets.image_disk(client, name)
        except KubeletSilent as error:
            step = "get the right to `get` nodes/proxy, or run `lading doctor` on the node"
            yield findings.skipped("Kubelet limits", f"{name}: {error}.", step)
        else:
            yield judged(name, limit, space, check="Kubelet limits")
    if len(names) > NODES_ASKED_MAX:
        found = f"{len(names) - NODES_ASKED_MAX} more nodes were not asked."
        yield findings.skipped("Kubelet limits", found)


def judged(name: str, limit: KubeletLimits, space: Space, *, check: str) -> CheckFinding:
    """Whether the kubelet removes images now, or is about to."""
    threshold = limit.image_gc_high_threshold_percent
    used = 100 - 100 * space.available_bytes // max(1, space.capacity_bytes)
    free = quantities.format_bytes(space.available_bytes)
    found = f"{name}: {used}% of the image disk is used, {free} is free; from {threshold}% on, the"
    found += " kubelet removes images."
    if used >= threshold:
        return findings.failed(check, found, _FREE_SPACE)
    if used >= threshold - NEAR_PERCENT:
        return findings.warning(check, found, _FREE_SPACE)
    return findings.ok(check, found)
