"""The columns of `kubectl get` for the built-in kinds that people look at here.

Any other built-in kind shows its name and age. A cell is a function of the object and the time.
"""

from datetime import UTC, datetime
from typing import Any

from lading.embedded.kube.resources import Cell, Column
from lading.embedded.kube.schema.nodes import Document

NONE = "<none>"
UNKNOWN = "<unknown>"
_ROLE_PREFIX = "node-role.kubernetes.io/"
# From this many seconds on: the unit, the smaller unit that is shown beside it, and their letters.
_AGE_STEPS = (
    (8 * 365 * 86_400, 365 * 86_400, "y", 0, ""),
    (2 * 365 * 86_400, 365 * 86_400, "y", 86_400, "d"),
    (8 * 86_400, 86_400, "d", 0, ""),
    (2 * 86_400, 86_400, "d", 3_600, "h"),
    (8 * 3_600, 3_600, "h", 0, ""),
    (3 * 3_600, 3_600, "h", 60, "m"),
    (10 * 60, 60, "m", 0, ""),
    (2 * 60, 60, "m", 1, "s"),
)


def of(group: str, kind: str) -> tuple[Column, ...]:
    return _COLUMNS.get((group, kind), (NAME, _AGE))


def age(timestamp: Any, now: datetime) -> str:
    """The age of an RFC 3339 timestamp as kubectl writes it: 45s, 3m12s, 5h, 12d, 2y30d."""
    if not isinstance(timestamp, str) or not timestamp:
        return UNKNOWN
    try:
        then = datetime.fromisoformat(timestamp)
    except ValueError:
        return "<invalid>"
    seconds = int((now - then.astimezone(UTC)).total_seconds())
    if seconds < -1:
        return "<invalid>"
    for start, large, unit, small, small_unit in _AGE_STEPS:
        if seconds >= start:
            rest = seconds % large // small if small else 0
            return f"{seconds // large}{unit}" + (f"{rest}{small_unit}" if rest else "")
    return f"{max(seconds, 0)}s"


def dig(document: Any, path: str, missing: Any = None) -> Any:
    """The value at a path, or `missing` if it is absent, null or an empty string."""
    for step in path.split("."):
        document = document.get(step) if isinstance(document, dict) else None
    return missing if document in (None, "") else document


def _at(path: str, missing: Any = "") -> Cell:
    return lambda document, now: dig(document, path, missing)


def _age_at(path: str, missing: str = UNKNOWN) -> Cell:
    def cell(document: Document, now: datetime) -> str:
        found = dig(document, path)
        return age(found, now) if found else missing

    return cell


def _text(name: str, cell: Cell) -> Column:
    return Column(name=name, cell=cell)


def _count(name: str, cell: Cell) -> Column:
    return Column(name=name, type="integer", cell=cell)


def _wide(name: str, cell: Cell) -> Column:
    return Column(name=name, priority=1, cell=cell)


def _data_count(document: Document, now: datetime) -> int:
    return len(document.get("data") or ()) + len(document.get("binaryData") or ())


def _node_status(node: Document, now: datetime) -> str:
    ready = [each for each in dig(node, "status.conditions", []) if each.get("type") == "Ready"]
    states = ["Ready" if ready[0].get("status") == "True" else "NotReady"] if ready else ["Unknown"]
    if dig(node, "spec.unschedulable", False):
        states.append("SchedulingDisabled")
    return ",".join(states)


def _node_roles(node: Document, now: datetime) -> str:
    labels: dict[str, str] = node["metadata"].get("labels") or {}
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    return ",".join(sorted(filter(None, roles))) or NONE


def _node_address(node: Document, now: datetime) -> str:
    addresses = dig(node, "status.addresses", [])
    found = [each.get("address", "") for each in addresses if each.get("type") == "InternalIP"]
    return found[0] if found else NONE


def _node_selector(daemon_set: Document, now: datetime) -> str:
    labels = dig(daemon_set, "spec.template.spec.nodeSelector", {})
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items())) or NONE


def _job_status(job: Document, now: datetime) -> str:
    for condition in dig(job, "status.conditions", []):
        is_true = condition.get("status") == "True"
        if is_true and condition.get("type") in ("Complete", "Failed", "Suspended"):
            return str(condition["type"])
    return "Terminating" if job["metadata"].get("deletionTimestamp") else "Running"


def _job_completions(job: Document, now: datetime) -> str:
    succeeded, wanted = dig(job, "status.succeeded", 0), dig(job, "spec.completions")
    parallelism = dig(job, "spec.parallelism", 0)
    if wanted is None:
        return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"
    return f"{succeeded}/{wanted}"


def _job_duration(job: Document, now: datetime) -> str:
    start, end = dig(job, "status.startTime"), dig(job, "status.completionTime")
    until = datetime.fromisoformat(end).astimezone(UTC) if end else now
    return age(start, until) if start else ""


def _event_last_seen(event: Document, now: datetime) -> str:
    paths = (
        "series.lastObservedTime lastTimestamp deprecatedLastTimestamp firstTimestamp "
        "deprecatedFirstTimestamp eventTime"
    )
    return age(next(filter(None, (dig(event, path) for path in paths.split())), None), now)


def _event_subject(event: Document, now: datetime) -> str:
    about = event.get("involvedObject") or event.get("regarding") or {}
    kind, name = str(about.get("kind", "")).lower(), about.get("name", "")
    return f"{kind}/{name}" if name else kind


def _event_message(event: Document, now: datetime) -> str:
    return str(event.get("message") or event.get("note") or "").strip()


def _pod_ready(pod: Document, now: datetime) -> str:
    ready = sum(bool(each.get("ready")) for each in _statuses(pod))
    return f"{ready}/{len(dig(pod, 'spec.containers', []))}"


def _pod_restarts(pod: Document, now: datetime) -> str:
    count = sum(each.get("restartCount") or 0 for each in _statuses(pod))
    ended = [dig(each, "lastState.terminated.finishedAt") for each in _statuses(pod)]
    last = max(filter(None, ended), default=None)
    return f"{count} ({age(last, now)} ago)" if count and last else str(count)


def _pod_status(pod: Document, now: datetime) -> str:
    """The phase, or the more precise reason of a container, an eviction or a deletion."""
    phase = dig(pod, "status.reason") or dig(pod, "status.phase", "Unknown")
    if pod["metadata"].get("deletionTimestamp") and phase not in ("Failed", "Succeeded"):
        return "Terminating"
    return _initialising(pod) or _running(pod, str(phase))


def _statuses(pod: Document, kind: str = "containerStatuses") -> list[Document]:
    found: list[Document] = dig(pod, f"status.{kind}", [])
    return found


def _initialising(pod: Document) -> str:
    """`Init:1/3`, or the reason why an init container does not finish; empty if all are done."""
    statuses = _statuses(pod, "initContainerStatuses")
    total = len(dig(pod, "spec.initContainers", []))
    for index, each in enumerate(statuses):
        ended, waiting = dig(each, "state.terminated"), dig(each, "state.waiting.reason", "")
        if ended and ended.get("exitCode") == 0:
            continue
        if each.get("started") and each.get("ready"):
            continue  # a sidecar that runs
        if ended:
            return f"Init:{_ending(ended)}"
        progress = f"{index}/{total}"
        return f"Init:{progress if waiting in ('', 'PodInitializing') else waiting}"
    return ""


def _running(pod: Document, word: str) -> str:
    has_running = False
    for each in reversed(_statuses(pod)):
        if waiting := dig(each, "state.waiting.reason"):
            word = str(waiting)
        elif ended := dig(each, "state.terminated"):
            word = _ending(ended)
        else:
            has_running = has_running or bool(each.get("ready"))
    return "Running" if word == "Completed" and has_running else word


def _ending(terminated: Document) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


NAME = Column(name="Name", format="name", cell=_at("metadata.name"))
_AGE = _text("Age", _age_at("metadata.creationTimestamp"))
_EVENT = (
    _text("Last Seen", _event_last_seen),
    _text("Type", _at("type")),
    _text("Reason", _at("reason")),
    _text("Object", _event_subject),
    _text("Message", _event_message),
    Column(name="Name", format="name", priority=1, cell=_at("metadata.name")),
)

_COLUMNS: dict[tuple[str, str], tuple[Column, ...]] = {
    ("", "ConfigMap"): (NAME, _text("Data", _data_count), _AGE),
    ("", "Event"): _EVENT,
    ("events.k8s.io", "Event"): _EVENT,
    ("", "Namespace"): (NAME, _text("Status", _at("status.phase")), _AGE),
    ("", "Node"): (
        NAME,
        _text("Status", _node_status),
        _text("Roles", _node_roles),
        _AGE,
        _text("Version", _at("status.nodeInfo.kubeletVersion")),
        _wide("Internal-IP", _node_address),
    ),
    ("", "Pod"): (
        NAME,
        _text("Ready", _pod_ready),
        _text("Status", _pod_status),
        _text("Restarts", _pod_restarts),
        _AGE,
        _wide("IP", _at("status.podIP", NONE)),
        _wide("Node", _at("spec.nodeName", NONE)),
    ),
    ("", "Secret"): (NAME, _text("Type", _at("type")), _text("Data", _data_count), _AGE),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): (
        NAME,
        Column(name="Created At", type="date", cell=_at("metadata.creationTimestamp")),
    ),
    ("apps", "DaemonSet"): (
        NAME,
        _count("Desired", _at("status.desiredNumberScheduled", 0)),
        _count("Current", _at("status.currentNumberScheduled", 0)),
        _count("Ready", _at("status.numberReady", 0)),
        _count("Up-to-date", _at("status.updatedNumberScheduled", 0)),
        _count("Available", _at("status.numberAvailable", 0)),
        _text("Node Selector", _node_selector),
        _AGE,
    ),
    ("batch", "CronJob"): (
        NAME,
        _text("Schedule", _at("spec.schedule")),
        _text("Timezone", _at("spec.timeZone", NONE)),
        _text("Suspend", lambda cron_job, now: str(dig(cron_job, "spec.suspend", False))),
        _count("Active", lambda cron_job, now: len(dig(cron_job, "status.active", ()))),
        _text("Last Schedule", _age_at("status.lastScheduleTime", NONE)),
        _AGE,
    ),
    ("batch", "Job"): (
        NAME,
        _text("Status", _job_status),
        _text("Completions", _job_completions),
        _text("Duration", _job_duration),
        _AGE,
    ),
    ("coordination.k8s.io", "Lease"): (NAME, _text("Holder", _at("spec.holderIdentity")), _AGE),
    ("node.k8s.io", "RuntimeClass"): (NAME, _text("Handler", _at("handler")), _AGE),
}
