"""What `kubectl get pods` shows: how many containers are ready, one word of status, restarts."""

from datetime import datetime
from typing import Any

from lading.servers.kube.builtins import ages
from lading.servers.kube.schema.nodes import Document


def ready(pod: Document) -> str:
    containers = (pod.get("spec") or {}).get("containers") or []
    return f"{sum(bool(each.get('ready')) for each in _statuses(pod))}/{len(containers)}"


def status(pod: Document) -> str:
    """The phase, or the more telling word that a container, an eviction or a deletion gives."""
    word = _initialising(pod) or _running(pod)
    if pod["metadata"].get("deletionTimestamp"):
        lost = (pod.get("status") or {}).get("reason") == "NodeLost"
        is_over = _phase(pod) in ("Failed", "Succeeded")
        return "Unknown" if lost else word if is_over else "Terminating"
    return word


def restarts(pod: Document, now: datetime) -> str:
    statuses = _statuses(pod)
    count = sum(each.get("restartCount") or 0 for each in statuses)
    ended = [_state(each, "lastState", "terminated").get("finishedAt") for each in statuses]
    last = max(filter(None, ended), default=None)
    return f"{count} ({ages.age(last, now)} ago)" if count and last else str(count)


def readiness_gates(pod: Document) -> str:
    gates = (pod.get("spec") or {}).get("readinessGates") or []
    if not gates:
        return "<none>"
    conditions = (pod.get("status") or {}).get("conditions") or []
    true = {each.get("type") for each in conditions if each.get("status") == "True"}
    return f"{sum(gate.get('conditionType') in true for gate in gates)}/{len(gates)}"


def _statuses(pod: Document) -> list[Document]:
    return (pod.get("status") or {}).get("containerStatuses") or []


def _phase(pod: Document) -> str:
    status_part = pod.get("status") or {}
    return str(status_part.get("reason") or status_part.get("phase") or "Unknown")


def _initialising(pod: Document) -> str:
    """`Init:1/3` or what keeps an init container from finishing; empty when all are done."""
    statuses = (pod.get("status") or {}).get("initContainerStatuses") or []
    total = len((pod.get("spec") or {}).get("initContainers") or [])
    for index, each in enumerate(statuses):
        terminated = _state(each, "state", "terminated")
        waiting = _state(each, "state", "waiting")
        if terminated and terminated.get("exitCode") == 0:
            continue
        if each.get("started") and each.get("ready"):
            continue  # a sidecar that runs
        if terminated:
            return f"Init:{_ending(terminated)}"
        if waiting.get("reason") not in (None, "", "PodInitializing"):
            return f"Init:{waiting['reason']}"
        return f"Init:{index}/{total}"
    return ""


def _running(pod: Document) -> str:
    word, has_running = _phase(pod), False
    for each in reversed(_statuses(pod)):
        waiting = _state(each, "state", "waiting")
        terminated = _state(each, "state", "terminated")
        if waiting.get("reason"):
            word = waiting["reason"]
        elif terminated:
            word = _ending(terminated)
        elif each.get("ready") and _state(each, "state", "running"):
            has_running = True
    if word == "Completed" and has_running:
        conditions = (pod.get("status") or {}).get("conditions") or []
        is_ready = any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)
        return "Running" if is_ready else "NotReady"
    return word


def _ending(terminated: Document) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _state(container: Document, state: str, kind: str) -> Any:
    return (container.get(state) or {}).get(kind) or {}
