"""The checks of nodes: of all nodes through the API server, and of this machine's own runtime."""

import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import click

from lading.adapters.kube.client import KubeClient
from lading.api.core import NODES, Node
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.cli import output
from lading.cli.doctor import findings
from lading.cli.doctor.findings import CheckFinding
from lading.cli.image import node_options
from lading.kernel import quantities
from lading.pinned_images.node import rules
from lading.ports import cri, kube
from lading.ports.cri import Cri
from lading.ports.node import KubeletLimits, Space
from lading.wiring import cluster_preview, machine
from lading.wiring.cluster_preview import KubeletSilent

_UNIX = "unix://"
NODES_ASKED_MAX = 20
NEAR_PERCENT = 5
"""A warning begins this many percent below the threshold of the kubelet."""
_FREE_SPACE = "see docs/recovering-disk-space.md"


async def examine(endpoint: str) -> list[CheckFinding]:
    try:
        found = node_options.find_endpoint(endpoint)
    except click.ClickException as error:
        step = "run `lading doctor` on a node, or name the socket with --runtime-endpoint"
        return [findings.skipped("Runtime", _first_sentence(error.message), step)]
    if (refused := socket(found)) is not None:
        return [refused]
    try:
        async with machine.open_cri(found) as runtime:
            return await _answers(found, runtime)
    except cri.CriError as error:
        step = "check that the runtime runs: systemctl status containerd crio"
        return [findings.failed("Runtime", f"{error}.", step)]


def socket(endpoint: str) -> CheckFinding | None:
    """Why the socket cannot be used; None if it can, or if the endpoint is not a file."""
    path = Path(endpoint.removeprefix(_UNIX))
    if not endpoint.startswith(_UNIX):
        return None
    if not path.exists():
        step = "check that the runtime runs, and the path"
        return findings.failed("Runtime", f"There is no socket {path}.", step)
    if not os.access(path, os.R_OK | os.W_OK):
        return findings.failed("Runtime", f"You may not use {path}.", "run `lading doctor` as root")
    return None


def _first_sentence(message: str) -> str:
    found = message.partition(";")[0]
    return f"{found[:1].upper()}{found[1:]}."


async def _answers(endpoint: str, runtime: Cri) -> list[CheckFinding]:
    version, status = await runtime.version(), await runtime.status()
    sentence = f"{version.name} {version.version} answers at {endpoint}."
    found = [findings.ok("Runtime", sentence)]
    if not status.ready:
        step = "read the log of the runtime"
        found = [findings.failed("Runtime", f"{sentence} It reports that it is not ready.", step)]
    handlers = [one.name or "the default" for one in status.handlers]
    if handlers:
        found.append(findings.ok("Handlers", f"Runtime handlers: {', '.join(handlers)}."))
    for usage in (await runtime.filesystems()).images:
        space = await machine.disk().space(usage.mountpoint)
        if space is not None:
            limits = KubeletLimits()  # the API server knows the real ones; these are the defaults
            found.append(judged(usage.mountpoint, limits, space, check="Disk"))
    return found


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
        if why := rules.pins_ignored(one.status.node_info.kubelet_version):
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
            limit, space = await cluster_preview.image_disk(client, name)
        except KubeletSilent as error:
            step = "get the right to `get` nodes/proxy, or run `lading doctor` on the node"
            yield findings.skipped("Kubelet limits", f"{name}: {error}.", step)
        else:
            yield judged(name, limit, space, check="Kubelet limits")
    if len(names) > NODES_ASKED_MAX:
        found = f"{len(names) - NODES_ASKED_MAX} more nodes were not asked."
        yield findings.skipped("Kubelet limits", found)


def judged(name: str, limit: KubeletLimits, space: Space, *, check: str) -> CheckFinding:
    """Failed if the kubelet removes images now, a warning if it is about to."""
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
