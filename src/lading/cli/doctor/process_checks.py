"""The user's own rights, and Lading's processes in the cluster: rights, gates, heartbeat."""

from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec

from lading.adapters.kube.client import KubeClient
from lading.api.core import LEASES, LeaseSpec
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.api.rbac import NAMESPACE, Process
from lading.cli.doctor import findings
from lading.cli.doctor.findings import CheckFinding
from lading.kernel.errors import Malformed
from lading.kernel.objects import Resource
from lading.ports import kube
from lading.ports.http import Request
from lading.wiring import rights as process_rights
from lading.wiring.clock import system_clock
from lading.wiring.controller import LEASE_NAME
from lading.wiring.features import FEATURES
from lading.wiring.gates import parse_gates

_REVIEWS = "/apis/authorization.k8s.io/v1"
_LEASE_SILENT = timedelta(minutes=1)
"""Four times the duration of a lease."""
_GATES_ARGUMENT = "--feature-gates"
_INSTALL = "install Lading: docs/install.md. A cluster of `lading up` needs no installation"
_WORKLOADS: Mapping[Process, tuple[str, str]] = {
    Process.CONTROLLER: ("Deployment", "lading-controller"),
    Process.AGENT: ("DaemonSet", "lading-agent"),
}
_OWN_NEEDS = (
    (PINNED_IMAGE_SETS.group, PINNED_IMAGE_SETS.plural, "list", "lading get"),
    (PINNED_IMAGE_SETS.group, PINNED_IMAGE_SETS.plural, "patch", "lading apply"),
    (MACHINE_CONFIG_NODES.group, MACHINE_CONFIG_NODES.plural, "list", "lading pin status"),
    ("", "nodes", "list", "lading pin plan"),
    ("", "nodes/proxy", "get", "lading pin plan, for the free space of nodes"),
    ("", "pods", "list", "lading prune images, to keep what runs"),
)


async def rights(client: KubeClient) -> AsyncIterator[CheckFinding]:
    denied = [
        f"{verb} {resource} ({use})"
        for group, resource, verb, use in _OWN_NEEDS
        if not await _allowed(client, "SelfSubjectAccessReview", _asked(group, resource, verb))
    ]
    if denied:
        step = "ask an administrator for a ClusterRole with these rights, if you need the commands"
        yield findings.warning("Rights", f"You may not: {'; '.join(denied)}.", step)
    else:
        yield findings.ok("Rights", "You may read and change what the commands need.")


def _asked(group: str, resource: str, verb: str, namespace: str = "") -> dict[str, str]:
    plural, _, subresource = resource.partition("/")
    return {
        "group": group,
        "resource": plural,
        "subresource": subresource,
        "verb": verb,
        "namespace": namespace,
    }


async def _allowed(
    client: KubeClient, kind: str, attributes: Mapping[str, str], user: Mapping[str, Any] = {}
) -> bool:
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": kind,
        "spec": {"resourceAttributes": attributes, **user},
    }
    path = f"{_REVIEWS}/{kind.lower()}s"
    headers = {"content-type": "application/json"}
    request = Request(method="POST", path=path, headers=headers, body=msgspec.json.encode(body))
    return bool(msgspec.json.decode(await client.send(request))["status"].get("allowed"))


async def processes(client: KubeClient) -> AsyncIterator[CheckFinding]:
    gates_of: dict[str, str] = {}
    missing = []
    for process, (kind, name) in _WORKLOADS.items():
        workload = await _workload(client, kind, name, process.namespace)
        if workload is None:
            missing.append(f"{process.namespace} has no {kind} {name}")
            continue
        yield ready(kind, name, workload["status"], process.namespace)
        gates_of[name] = gates_in(workload)
        async for one in _rights_of(client, process, name):
            yield one
    if missing:
        finding = findings.warning if gates_of else findings.skipped
        found = f"The namespace {' and the namespace '.join(missing)}."
        yield finding("Processes", found, _INSTALL)
    for one in gates(gates_of):
        yield one
    if "lading-controller" in gates_of:
        yield await _leader(client)


async def _workload(
    client: KubeClient, kind: str, name: str, namespace: str
) -> dict[str, Any] | None:
    resource = Resource(
        group="apps",
        version="v1",
        kind=kind,
        plural=f"{kind.lower()}s",
        namespaced=True,
        type=dict[str, Any],
    )
    try:
        return await client.get(resource, name, namespace=namespace)
    except kube.NotFound:
        return None


def ready(kind: str, name: str, status: Mapping[str, Any], namespace: str) -> CheckFinding:
    is_deployment = kind == "Deployment"
    wanted = status.get("replicas" if is_deployment else "desiredNumberScheduled", 0)
    ready = status.get("readyReplicas" if is_deployment else "numberReady", 0)
    found = f"{kind} {name}: {ready} of {wanted} pods are ready."
    if ready and ready == wanted:
        return findings.ok("Processes", found)
    step = f"kubectl -n {namespace} describe {kind.lower()} {name}, then the logs of its pods"
    return findings.failed("Processes", found, step)


def gates_in(workload: Mapping[str, Any]) -> str:
    """The value of --feature-gates of its first container."""
    container = workload["spec"]["template"]["spec"]["containers"][0]
    for argument in container.get("args", ()):
        if argument.startswith(f"{_GATES_ARGUMENT}="):
            return str(argument.partition("=")[2])
    named = {one["name"]: one.get("value", "") for one in container.get("env", ())}
    return str(named.get("LADING_FEATURE_GATES", ""))


def gates(texts_by_process: Mapping[str, str]) -> Iterator[CheckFinding]:
    """A feature needs its gate in both processes."""
    values: dict[str, dict[str, bool]] = {}
    for name, text in texts_by_process.items():
        try:
            values[name] = {gate.name: value for gate, value in parse_gates(text).items()}
        except Malformed as error:
            step = f"correct {_GATES_ARGUMENT} of {name}"
            yield findings.failed("Gates", f"{name}: {error}.", step)
    for name, found in values.items():
        shown = ", ".join(f"{gate}={str(value).lower()}" for gate, value in found.items())
        yield findings.ok("Gates", f"{name}: {shown}.")
    if len(values) > 1:
        first, second = values.values()
        unlike = [gate for gate in first if first[gate] is not second[gate]]
        if unlike:
            step = f"give both processes the same {_GATES_ARGUMENT}"
            yield findings.warning(
                "Gates", f"On in only one of the two: {', '.join(unlike)}.", step
            )


async def _rights_of(
    client: KubeClient, process: Process, account: str
) -> AsyncIterator[CheckFinding]:
    """The rights that the features need by default, without those of overlays."""
    group = f"system:serviceaccounts:{process.namespace}"
    user = {
        "user": f"system:serviceaccount:{process.namespace}:{account}",
        "groups": ["system:serviceaccounts", group, "system:authenticated"],
    }
    denied = []
    for attributes in _needed(process):
        if not await _allowed(client, "SubjectAccessReview", attributes, user):
            where = f" in {attributes['namespace']}" if attributes["namespace"] else ""
            denied.append(f"{attributes['verb']} {attributes['resource']}{where}")
    if denied:
        step = "apply deploy/ of this version again: it has the Roles"
        found = f"The account {account} may not: {', '.join(denied)}."
        yield findings.failed("Rights", found, step)
    else:
        yield findings.ok("Rights", f"The account {account} has what its features need.")


def _needed(process: Process) -> Iterator[dict[str, str]]:
    on = [one for one in FEATURES if one.gate is None or one.gate.default]
    for right in process_rights.rights_of(process, on):
        if right.overlay or right.names:
            continue
        for namespace in right.namespaces or ("",):
            for resource in right.resources:
                for verb in right.verbs:
                    yield _asked(right.group, resource, verb, namespace)


async def _leader(client: KubeClient) -> CheckFinding:
    try:
        lease = (await client.get(LEASES, LEASE_NAME, namespace=NAMESPACE)).spec
    except kube.NotFound:
        step = f"kubectl -n {NAMESPACE} logs deployment/lading-controller"
        return findings.failed("Processes", "No controller has been the leader yet.", step)
    return leadership(lease, system_clock().now())


def leadership(lease: LeaseSpec, now: datetime) -> CheckFinding:
    """A leader that ends releases the lease. Another replica takes it within seconds."""
    silent = now - datetime.fromisoformat(lease.renew_time or "1970-01-01T00:00Z")
    seconds = silent.total_seconds()
    step = f"kubectl -n {NAMESPACE} logs deployment/lading-controller"
    if silent >= _LEASE_SILENT:
        return findings.failed("Processes", f"The lease was not renewed for {seconds:.0f} s.", step)
    if not lease.holder_identity:
        found = f"The last leader released the lease {seconds:.0f} s ago. No other has it yet."
        return findings.warning("Processes", found, f"run this command again; {step}")
    found = f"{lease.holder_identity} is the leader since {lease.acquire_time}."
    return findings.ok("Processes", found)
