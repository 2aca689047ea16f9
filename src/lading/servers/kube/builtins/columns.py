"""What `kubectl get` prints for the built-in kinds: one table of columns per kind.

A cell is a function of the object and of now. Cells that need more than a path into the object
are in `cells`, `pod_cells` and `event_cells`.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from lading.servers.kube.builtins import ages, cells, event_cells, pod_cells
from lading.servers.kube.schema.nodes import Document

Cell = Callable[[Document, datetime], Any]


class Column(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    type: str = "string"
    format: str = ""
    priority: int = 0
    """1 is shown only by `-o wide`."""
    description: str = ""
    cell: Cell


def of(group: str, kind: str) -> tuple[Column, ...]:
    """The columns of a built-in kind; name and age for one that has none of its own."""
    return _COLUMNS.get((group, kind), (_NAME, _AGE))


def _at(path: str, missing: Any = "") -> Cell:
    steps = path.split(".")
    return lambda document, now: cells.dig(document, steps, missing)


def _now(cell: Callable[[Document], Any]) -> Cell:
    return lambda document, now: cell(document)


def _text(name: str, cell: Cell) -> Column:
    return Column(name=name, cell=cell)


def _count(name: str, cell: Cell) -> Column:
    return Column(name=name, type="integer", cell=cell)


def _wide(name: str, cell: Cell) -> Column:
    return Column(name=name, priority=1, cell=cell)


def _age_of(path: str) -> Cell:
    steps = path.split(".")
    return lambda document, now: ages.age(cells.dig(document, steps, None), now)


_NAME = Column(name="Name", format="name", cell=_at("metadata.name"))
_AGE = _text("Age", _age_of("metadata.creationTimestamp"))
_CREATED = Column(name="Created At", type="date", cell=_at("metadata.creationTimestamp"))
_WORKLOAD = (
    _wide("Containers", _now(cells.container_names)),
    _wide("Images", _now(cells.container_images)),
    _wide("Selector", _now(cells.selector)),
)
_BINDING = (
    _NAME,
    _text("Role", _now(cells.role)),
    _AGE,
    _wide("Users", _now(cells.subjects("User"))),
    _wide("Groups", _now(cells.subjects("Group"))),
    _wide("ServiceAccounts", _now(cells.subjects("ServiceAccount"))),
)
_EVENT = (
    _text("Last Seen", event_cells.last_seen),
    _text("Type", _at("type")),
    _text("Reason", _at("reason")),
    _text("Object", _now(event_cells.subject)),
    _wide("Subobject", _now(event_cells.subobject)),
    _wide("Source", _now(event_cells.source)),
    _text("Message", _now(event_cells.message)),
    _wide("First Seen", event_cells.first_seen),
    _wide("Count", _now(event_cells.count)),
    Column(name="Name", format="name", priority=1, cell=_at("metadata.name")),
)
_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"

_COLUMNS: dict[tuple[str, str], tuple[Column, ...]] = {
    ("", "ConfigMap"): (_NAME, _text("Data", _now(cells.data_count)), _AGE),
    ("", "Event"): _EVENT,
    ("events.k8s.io", "Event"): _EVENT,
    ("", "Namespace"): (_NAME, _text("Status", _at("status.phase")), _AGE),
    ("", "Node"): (
        _NAME,
        _text("Status", _now(cells.node_status)),
        _text("Roles", _now(cells.node_roles)),
        _AGE,
        _text("Version", _at("status.nodeInfo.kubeletVersion")),
        _wide("Internal-IP", _now(cells.node_address("InternalIP"))),
        _wide("External-IP", _now(cells.node_address("ExternalIP"))),
        _wide("OS-Image", _at("status.nodeInfo.osImage", ages.UNKNOWN)),
        _wide("Kernel-Version", _now(cells.node_kernel)),
        _wide("Container-Runtime", _at("status.nodeInfo.containerRuntimeVersion", ages.UNKNOWN)),
    ),
    ("", "Pod"): (
        _NAME,
        _text("Ready", _now(pod_cells.ready)),
        _text("Status", _now(pod_cells.status)),
        _text("Restarts", pod_cells.restarts),
        _AGE,
        _wide("IP", _at("status.podIP", cells.NONE)),
        _wide("Node", _at("spec.nodeName", cells.NONE)),
        _wide("Nominated Node", _at("status.nominatedNodeName", cells.NONE)),
        _wide("Readiness Gates", _now(pod_cells.readiness_gates)),
    ),
    ("", "Secret"): (
        _NAME,
        _text("Type", _at("type")),
        _text("Data", _now(cells.data_count)),
        _AGE,
    ),
    ("", "Service"): (
        _NAME,
        _text("Type", _at("spec.type")),
        _text("Cluster-IP", _at("spec.clusterIP", cells.NONE)),
        _text("External-IP", _now(cells.service_external_address)),
        _text("Port(s)", _now(cells.service_ports)),
        _AGE,
        _wide("Selector", _now(cells.service_selector)),
    ),
    (_ADMISSION, "ValidatingAdmissionPolicy"): (
        _NAME,
        _count("Validations", _now(cells.validation_count)),
        _text("ParamKind", _now(cells.parameter_kind)),
        _AGE,
    ),
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): (
        _NAME,
        _text("PolicyName", _at("spec.policyName")),
        _text("ParamRef", _now(cells.parameter_reference)),
        _AGE,
    ),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): (_NAME, _CREATED),
    ("apps", "DaemonSet"): (
        _NAME,
        _count("Desired", _at("status.desiredNumberScheduled", 0)),
        _count("Current", _at("status.currentNumberScheduled", 0)),
        _count("Ready", _at("status.numberReady", 0)),
        _count("Up-to-date", _at("status.updatedNumberScheduled", 0)),
        _count("Available", _at("status.numberAvailable", 0)),
        _text("Node Selector", _now(cells.node_selector)),
        _AGE,
        *_WORKLOAD,
    ),
    ("apps", "Deployment"): (
        _NAME,
        _text("Ready", _now(cells.deployment_ready)),
        _text("Up-to-date", _at("status.updatedReplicas", 0)),
        _text("Available", _at("status.availableReplicas", 0)),
        _AGE,
        *_WORKLOAD,
    ),
    ("batch", "CronJob"): (
        _NAME,
        _text("Schedule", _at("spec.schedule")),
        _text("Timezone", _at("spec.timeZone", cells.NONE)),
        Column(name="Suspend", type="boolean", cell=_now(cells.is_suspended)),
        _count("Active", _now(cells.active_count)),
        _text("Last Schedule", cells.last_schedule),
        _AGE,
        *_WORKLOAD,
    ),
    ("batch", "Job"): (
        _NAME,
        _text("Status", _now(cells.job_status)),
        _text("Completions", _now(cells.job_completions)),
        _text("Duration", cells.job_duration),
        _AGE,
        *_WORKLOAD,
    ),
    ("coordination.k8s.io", "Lease"): (_NAME, _text("Holder", _at("spec.holderIdentity")), _AGE),
    ("node.k8s.io", "RuntimeClass"): (_NAME, _text("Handler", _at("handler")), _AGE),
    (_RBAC, "ClusterRole"): (_NAME, _CREATED),
    (_RBAC, "Role"): (_NAME, _CREATED),
    (_RBAC, "ClusterRoleBinding"): _BINDING,
    (_RBAC, "RoleBinding"): _BINDING,
}
