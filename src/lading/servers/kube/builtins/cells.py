"""The cells of `kubectl get` that are more than a path into the object, named by what they show.

Pods have their own module, `pod_cells`, events theirs, `event_cells`.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from lading.kernel.selectors import Operator
from lading.servers.kube.builtins import ages
from lading.servers.kube.schema.nodes import Document

NONE = "<none>"
_ROLE_PREFIX = "node-role.kubernetes.io/"


def dig(document: Any, steps: list[str], missing: Any) -> Any:
    """The value at a path; `missing` where there is none, or an empty text or null."""
    for step in steps:
        document = document.get(step) if isinstance(document, dict) else None
    return missing if document in (None, "") else document


def data_count(document: Document) -> int:
    return len(document.get("data") or ()) + len(document.get("binaryData") or ())


def node_status(node: Document) -> str:
    ready = [each for each in _list(node, "status.conditions") if each.get("type") == "Ready"]
    states = ["Ready" if ready[0].get("status") == "True" else "NotReady"] if ready else ["Unknown"]
    if dig(node, ["spec", "unschedulable"], False):
        states = [*states, "SchedulingDisabled"]
    return ",".join(states)


def node_roles(node: Document) -> str:
    labels: dict[str, str] = node["metadata"].get("labels") or {}
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    if labels.get("kubernetes.io/role"):
        roles.add(labels["kubernetes.io/role"])
    return ",".join(sorted(filter(None, roles))) or NONE


def node_address(kind: str) -> Callable[[Document], str]:
    def address(node: Document) -> str:
        found = [
            each.get("address", "")
            for each in _list(node, "status.addresses")
            if each.get("type") == kind
        ]
        return found[0] if found else NONE

    return address


def node_kernel(node: Document) -> str:
    kernel = dig(node, ["status", "nodeInfo", "kernelVersion"], ages.UNKNOWN)
    architecture = dig(node, ["status", "nodeInfo", "architecture"], "")
    return f"{kernel} ({architecture})" if architecture else str(kernel)


def container_names(document: Document) -> str:
    return ",".join(str(each.get("name", "")) for each in _containers(document))


def container_images(document: Document) -> str:
    return ",".join(str(each.get("image", "")) for each in _containers(document))


def _containers(document: Document) -> list[Document]:
    template = dig(document, ["spec", "jobTemplate"], document)
    return _list(template, "spec.template.spec.containers")


def selector(document: Document) -> str:
    template = dig(document, ["spec", "jobTemplate"], document)
    return label_selector(dig(template, ["spec", "selector"], None))


def label_selector(found: Any) -> str:
    """A selector in the query form, as the server prints it."""
    if not isinstance(found, dict):
        return NONE
    texts = [f"{key}={value}" for key, value in sorted((found.get("matchLabels") or {}).items())]
    texts += [_expression(each) for each in found.get("matchExpressions") or ()]
    return ",".join(texts) or NONE


def _expression(expression: Document) -> str:
    """Only `matchLabels` are shown with `=`: a set of one value stays a set."""
    key, values = expression["key"], ",".join(sorted(expression.get("values") or ()))
    match expression["operator"]:
        case Operator.EXISTS:
            return str(key)
        case Operator.DOES_NOT_EXIST:
            return f"!{key}"
        case operator:
            return f"{key} {operator.lower()} ({values})"


def node_selector(document: Document) -> str:
    return _pairs(dig(document, ["spec", "template", "spec", "nodeSelector"], {}))


def service_selector(service: Document) -> str:
    return _pairs(dig(service, ["spec", "selector"], {}))


def _pairs(labels: Mapping[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items())) or NONE


def service_external_address(service: Document) -> str:
    spec = service.get("spec") or {}
    if spec.get("type") == "ExternalName":
        return str(spec.get("externalName") or NONE)
    given = [
        each.get("ip") or each.get("hostname") or ""
        for each in _list(service, "status.loadBalancer.ingress")
    ]
    addresses = [*given, *(spec.get("externalIPs") or ())]
    if not addresses and spec.get("type") == "LoadBalancer":
        return "<pending>"
    return ",".join(addresses) or NONE


def service_ports(service: Document) -> str:
    return (
        ",".join(
            f"{port.get('port')}"
            + (f":{port['nodePort']}" if port.get("nodePort") else "")
            + f"/{port.get('protocol', 'TCP')}"
            for port in _list(service, "spec.ports")
        )
        or NONE
    )


def deployment_ready(deployment: Document) -> str:
    ready = dig(deployment, ["status", "readyReplicas"], 0)
    return f"{ready}/{dig(deployment, ['spec', 'replicas'], 0)}"


def is_suspended(cron_job: Document) -> str:
    value = dig(cron_job, ["spec", "suspend"], None)
    return "<unset>" if value is None else str(bool(value))


def active_count(cron_job: Document) -> int:
    return len(_list(cron_job, "status.active"))


def last_schedule(cron_job: Document, now: datetime) -> str:
    last = dig(cron_job, ["status", "lastScheduleTime"], None)
    return ages.age(last, now) if last else NONE


def job_status(job: Document) -> str:
    states = {"Complete": "Complete", "Failed": "Failed", "Suspended": "Suspended"}
    for condition in _list(job, "status.conditions"):
        if condition.get("status") == "True" and condition.get("type") in states:
            return states[condition["type"]]
    if job["metadata"].get("deletionTimestamp"):
        return "Terminating"
    return "Running"


def job_completions(job: Document) -> str:
    succeeded, spec = dig(job, ["status", "succeeded"], 0), job.get("spec") or {}
    if spec.get("completions") is not None:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism") or 0
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def job_duration(job: Document, now: datetime) -> str:
    start = dig(job, ["status", "startTime"], None)
    if start is None:
        return ""
    end = dig(job, ["status", "completionTime"], None)
    until = datetime.fromisoformat(end).astimezone(UTC) if end else now
    return ages.age(start, until)


def validation_count(policy: Document) -> int:
    return len(_list(policy, "spec.validations"))


def parameter_kind(policy: Document) -> str:
    kind = dig(policy, ["spec", "paramKind"], None)
    return f"{kind.get('apiVersion')}/{kind.get('kind')}" if kind else "<unset>"


def parameter_reference(binding: Document) -> str:
    reference = dig(binding, ["spec", "paramRef"], None)
    if not reference:
        return "<unset>"
    if reference.get("name"):
        namespace = reference.get("namespace")
        return f"{namespace}/{reference['name']}" if namespace else str(reference["name"])
    return label_selector(reference.get("selector"))


def role(binding: Document) -> str:
    reference = binding.get("roleRef") or {}
    return f"{reference.get('kind', '')}/{reference.get('name', '')}"


def subjects(kind: str) -> Callable[[Document], str]:
    def listed(binding: Document) -> str:
        found = [each for each in binding.get("subjects") or () if each.get("kind") == kind]
        return ", ".join(
            f"{each['namespace']}/{each['name']}" if each.get("namespace") else each["name"]
            for each in found
        )

    return listed


def _list(document: Any, path: str) -> list[Document]:
    found = dig(document, path.split("."), [])
    return found if isinstance(found, list) else []
