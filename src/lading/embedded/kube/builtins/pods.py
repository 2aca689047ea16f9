"""Pods: the defaults of their specs (also in templates), and the fields that admission adds."""

from collections.abc import Iterator
from typing import Any

from lading.embedded.kube.schema.nodes import Document

_SPEC: Document = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
}
_CONTAINER: Document = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_CONTAINERS = ("initContainers", "containers")
_FILE_MODE = 0o644
_WITH_FILE_MODE = ("configMap", "secret", "projected", "downwardAPI")
TOLERATION_SECONDS = 300
"""How long a pod stays on a lost node, as in kube-apiserver."""
_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_PRIORITY = {"priority": 0, "preemptionPolicy": "PreemptLowerPriority"}
_SCHEDULED = "PodScheduled"
_COMPUTE = ("cpu", "memory")


class Rejected(Exception):
    """Admission rejects the pod; the text is the reason."""


def filled(spec: Document) -> Document:
    """The spec with its defaults; values of the wrong type stay for validation to refuse."""
    whole = {**_SPEC, "securityContext": {}, **spec}
    for key in _CONTAINERS:
        if isinstance(spec.get(key), list):
            whole[key] = [_container(each) for each in spec[key]]
    if isinstance(spec.get("volumes"), list):
        whole["volumes"] = [_volume(each) for each in spec["volumes"]]
    if spec.get("serviceAccountName"):
        whole["serviceAccount"] = spec["serviceAccountName"]
    return whole


def completed(spec: Document) -> Document:
    """The defaults that only pods have, not templates: requests and ports of the host."""
    on_host = spec.get("hostNetwork") is True
    return {
        key: [_completed(each, on_host=on_host) for each in value]
        if key in _CONTAINERS and isinstance(value, list)
        else value
        for key, value in spec.items()
    }


def _completed(container: Any, *, on_host: bool) -> Any:
    match container:
        case {"ports": list() as ports} if on_host:
            container = {**container, "ports": [_port_of_host(each) for each in ports]}
    return _requesting(container)


def _port_of_host(port: Any) -> Any:
    """With hostNetwork, the port of a container is a port of the node."""
    match port:
        case {"containerPort": int() as number} if not port.get("hostPort"):
            return {**port, "hostPort": number}
    return port


def _requesting(container: Any) -> Any:
    """The requests of a container default to its limits."""
    match container:
        case {"resources": {"limits": dict() as limits, **others}} if limits:
            asked = others.get("requests") or {}
            if isinstance(asked, dict):
                resources = {**others, "limits": limits, "requests": {**limits, **asked}}
                return {**container, "resources": resources}
    return container


def _container(container: Any) -> Any:
    if not isinstance(container, dict):
        return container
    whole = {**_CONTAINER, "resources": {}, **container}
    whole.setdefault("imagePullPolicy", _pull_policy(str(container.get("image", ""))))
    if isinstance(whole.get("env"), list):
        whole["env"] = [_variable(each) for each in whole["env"]]
    return whole


def _pull_policy(image: str) -> str:
    """Always for the tag `latest` or no tag and digest, else IfNotPresent."""
    if "@" in image:
        return "IfNotPresent"
    _, colon, tag = image.rpartition("/")[2].partition(":")
    return "IfNotPresent" if colon and tag != "latest" else "Always"


def _variable(variable: Any) -> Any:
    if not isinstance(variable, dict) or "valueFrom" not in variable:
        return variable
    source = _with(variable["valueFrom"], "fieldRef", {"apiVersion": "v1"})
    return {**variable, "valueFrom": _with(source, "resourceFieldRef", {"divisor": "0"})}


def _with(given: Any, key: str, defaults: Document) -> Any:
    """The object with defaults inside one of its fields, if it has that field."""
    if not isinstance(given, dict) or not isinstance(given.get(key), dict):
        return given
    return {**given, key: {**defaults, **given[key]}}


def _volume(volume: Any) -> Any:
    if not isinstance(volume, dict):
        return volume
    if volume.keys() <= {"name"}:
        return {**volume, "emptyDir": {}}
    whole = _with(volume, "hostPath", {"type": ""})
    if isinstance(whole.get("image"), dict):
        policy = _pull_policy(str(whole["image"].get("reference", "")))
        whole = _with(whole, "image", {"pullPolicy": policy})
    for kind in _WITH_FILE_MODE:
        whole = _with(whole, kind, {"defaultMode": _FILE_MODE})
    return whole


def admitted(pod: Document) -> Document:
    spec = pod["spec"]
    account = spec.get("serviceAccountName") or "default"
    accounts = {"serviceAccountName": account, "serviceAccount": account}
    status = {**_gated(pod), "qosClass": service_class(spec)}
    return tolerating({**pod, "spec": {**_PRIORITY, **spec, **accounts}, "status": status})


def _gated(pod: Document) -> Document:
    """The status of a new pod, with a condition if scheduling gates block it."""
    status = pod.get("status") or {}
    given = status.get("conditions") or []
    if not pod["spec"].get("schedulingGates") or any(
        each.get("type") == _SCHEDULED for each in given
    ):
        return status
    condition = {
        "type": _SCHEDULED,
        "status": "False",
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
        "lastProbeTime": None,
        "lastTransitionTime": pod["metadata"].get("creationTimestamp"),
    }
    return {**status, "conditions": [*given, condition]}


def tolerating(pod: Document) -> Document:
    """The pod with the tolerations that every pod has; an update cannot remove them."""
    spec = pod.get("spec") or {}
    given = [*(spec.get("tolerations") or ()), *_missing_tolerations(spec)]
    return {**pod, "spec": {**spec, "tolerations": given}}


def _missing_tolerations(spec: Document) -> Iterator[Document]:
    for taint in _TAINTS:
        if not any(_tolerates(each, taint) for each in spec.get("tolerations") or ()):
            yield {
                "key": taint,
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": TOLERATION_SECONDS,
            }


def _tolerates(toleration: Document, taint: str) -> bool:
    in_key = toleration.get("key", "") in ("", taint)
    return in_key and toleration.get("effect", "") in ("", "NoExecute")


def service_class(spec: Document) -> str:
    """The QoS class: Guaranteed if all requests are the limits, BestEffort without any."""
    containers = [*(spec.get("initContainers") or ()), *spec["containers"]]
    resources = [each.get("resources") or {} for each in containers]
    requests = [_compute(each.get("requests")) for each in resources]
    limits = [_compute(each.get("limits")) for each in resources]
    if not any(requests) and not any(limits):
        return "BestEffort"
    is_exact = all(len(limit) == len(_COMPUTE) for limit in limits) and requests == limits
    return "Guaranteed" if is_exact else "Burstable"


def _compute(amounts: Document | None) -> Document:
    return {key: (amounts or {})[key] for key in _COMPUTE if key in (amounts or {})}


def of_runtime_class(pod: Document, runtime_class: Document) -> Document:
    """The pod with the overhead, node selector and tolerations of its runtime class."""
    spec, scheduling = pod["spec"], runtime_class.get("scheduling") or {}
    fixed = (runtime_class.get("overhead") or {}).get("podFixed") or {}
    if spec.get("overhead") and spec["overhead"] != fixed:
        raise Rejected("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
    wanted, given = scheduling.get("nodeSelector") or {}, spec.get("nodeSelector") or {}
    conflicts = [key for key in sorted(wanted) if given.get(key, wanted[key]) != wanted[key]]
    if conflicts:
        key = conflicts[0]
        raise Rejected(
            f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {wanted[key]}; "
            f"pod.spec.nodeSelector[{key}] = {given[key]}"
        )
    tolerated = spec.get("tolerations") or []
    more = [each for each in scheduling.get("tolerations") or () if each not in tolerated]
    added = {"overhead": fixed} if fixed else {}
    if wanted:
        added["nodeSelector"] = {**given, **wanted}
    return {**pod, "spec": {**spec, **added, "tolerations": [*tolerated, *more]}}
