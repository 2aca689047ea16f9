"""Objects of a cluster with held images, with defaults: every field written in a test matters."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from lading.api.core import DaemonSet, Node, Pod
from lading.api.longhorn import Image, Setting
from lading.prepull import holder
from lading.prepull.nodes import ExpectedDaemonSet
from lading.prepull.types import HoldKey

NAMESPACE = "lading-system"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEY = HoldKey(bytes(32))
HOLD_IMAGE = "registry.example.com/lading:1"
A, B, C = (f"registry.example.com/{name}:1" for name in "abc")
DAEMON_SET_UID = "uid-of-daemon-set"


def image(
    name: str = "a", url: str = A, *, created: str = "2026-01-01T00:00:00Z", **more: Any
) -> Image:
    metadata = {
        "name": name,
        "namespace": NAMESPACE,
        "uid": f"uid-of-{name}",
        "resourceVersion": "1",
        "generation": 1,
        "creationTimestamp": created,
        **more.pop("metadata", {}),
    }
    return msgspec.convert({"metadata": metadata, "spec": {"imageURL": url}, **more}, Image)


def setting(value: str = "true") -> Setting:
    metadata = {"name": "start-pre-pull-manager-images", "namespace": NAMESPACE}
    return msgspec.convert({"metadata": metadata, "value": value}, Setting)


def daemon_set(body: Any, *, spec: Any = None, **metadata: Any) -> DaemonSet:
    """As the API server shows it after a create."""
    shown = {**body["metadata"], "uid": DAEMON_SET_UID, "resourceVersion": "5", **metadata}
    return msgspec.convert({"metadata": shown, "spec": spec or body["spec"]}, DaemonSet)


def node(name: str = "node-a", *, ready: bool = True, taints: Any = (), **labels: str) -> Node:
    body = {
        "metadata": {"name": name, "labels": {"kubernetes.io/os": "linux", **labels}},
        "spec": {"taints": list(taints)},
        "status": {"conditions": [{"type": "Ready", "status": str(ready)}]},
    }
    return msgspec.convert(body, Node)


def expected(*urls: str, template: str = "t1", **more: Any) -> ExpectedDaemonSet:
    names = tuple(map(holder.container_name, urls or (A,)))
    return ExpectedDaemonSet(uid=DAEMON_SET_UID, template=template, containers=names, **more)


def waiting(url: str = A, reason: str = "ContainerCreating", message: str = "") -> dict[str, Any]:
    return {
        "name": holder.container_name(url),
        "image": url,
        "state": {"waiting": {"reason": reason, "message": message}},
    }


def running(url: str = A) -> dict[str, Any]:
    return {
        "name": holder.container_name(url),
        "image": url,
        "ready": True,
        "state": {"running": {}},
    }


def pod(
    name: str = "pod-a",
    *containers: dict[str, Any],
    on: str = "node-a",
    template: str = "t1",
    gated: bool = False,
    ready: bool = False,
    conditions: Any = (),
    **more: Any,
) -> Pod:
    metadata = {
        "name": name,
        "namespace": NAMESPACE,
        "uid": f"uid-of-{name}",
        "annotations": {holder.TEMPLATE_ANNOTATION: template},
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "x", "uid": DAEMON_SET_UID}
        ],
        **more.pop("metadata", {}),
    }
    made = [{"name": one["name"], "image": one.get("image", "")} for one in containers]
    spec: dict[str, Any] = {"nodeName": on}
    if gated:
        spec = {"schedulingGates": [{"name": holder.SCHEDULING_GATE}], "affinity": affinity_to(on)}
    spec |= {"containers": made, **more.pop("spec", {})}
    status = {
        "containerStatuses": list(containers),
        "conditions": [{"type": "Ready", "status": str(ready)}, *conditions],
        **more.pop("status", {}),
    }
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": status}, Pod)


def template_urls(made: Any) -> list[str]:
    """The images that the template of a DaemonSet holds, by its spec."""
    body = {"metadata": {}, "spec": made["template"]["spec"]}
    return list(holder.held(msgspec.convert(body, Pod)).values())


def affinity_to(name: str) -> dict[str, Any]:
    """As the DaemonSet controller binds a pod to its node."""
    field = {"key": "metadata.name", "operator": "In", "values": [name]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
