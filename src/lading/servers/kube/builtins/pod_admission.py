"""What admission gives to a pod: an account, a priority, tolerations, and its class of service.

It comes after validation. These fields have no field manager, since no client sent them.
"""

from collections.abc import Iterator

from lading.servers.kube.schema.nodes import Document

TOLERATION_SECONDS = 300
"""How long a pod stays on a node that is lost, as kube-apiserver has it."""
_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_PRIORITY = {"priority": 0, "preemptionPolicy": "PreemptLowerPriority"}
_SCHEDULED = "PodScheduled"
_COMPUTE = ("cpu", "memory")


def admitted(pod: Document) -> Document:
    spec = pod["spec"]
    account = spec.get("serviceAccountName") or "default"
    accounts = {"serviceAccountName": account, "serviceAccount": account}
    status = {**_gated(pod), "qosClass": service_class(spec)}
    return tolerating({**pod, "spec": {**_PRIORITY, **spec, **accounts}, "status": status})


def _gated(pod: Document) -> Document:
    """The status of a new pod; it says so when a scheduling gate holds the pod back."""
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
    """The pod with what every pod tolerates; an update that removes it gets it back."""
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
    """Guaranteed when every container is given exactly what it may use; BestEffort without any."""
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
