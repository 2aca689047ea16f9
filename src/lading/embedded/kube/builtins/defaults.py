"""Defaults of built-in kinds that are not in their schemas, as data where possible.

`fill` runs on every write and changes nothing the second time; `begin` runs only on a create. A
value of the wrong shape stays, for validation to refuse. Defaults that admission plug-ins and
controllers of a whole cluster add (service account volumes, taints of new nodes) are missing.
"""

import base64
import copy
from collections.abc import Callable
from typing import Any

from lading.embedded.kube.builtins import pods
from lading.embedded.kube.schema.nodes import Document

_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"
_JOB = {
    "backoffLimit": 6,
    "completionMode": "NonIndexed",
    "manualSelector": False,
    "podReplacementPolicy": "TerminatingOrFailed",
    "suspend": False,
}

_ALWAYS: dict[tuple[str, str], Document] = {
    ("", "Namespace"): {"spec": {}, "status": {}},
    ("", "Secret"): {"type": "Opaque"},
    ("apps", "DaemonSet"): {
        "spec": {"updateStrategy": {"type": "RollingUpdate"}, "revisionHistoryLimit": 10},
        "status": {
            "currentNumberScheduled": 0,
            "numberMisscheduled": 0,
            "desiredNumberScheduled": 0,
            "numberReady": 0,
        },
    },
    ("batch", "Job"): {"spec": _JOB, "status": {}},
    ("batch", "CronJob"): {
        "spec": {
            "concurrencyPolicy": "Allow",
            "suspend": False,
            "successfulJobsHistoryLimit": 3,
            "failedJobsHistoryLimit": 1,
        },
        "status": {},
    },
    (_RBAC, "ClusterRoleBinding"): {"roleRef": {"apiGroup": _RBAC}},
    (_RBAC, "RoleBinding"): {"roleRef": {"apiGroup": _RBAC}},
    (_ADMISSION, "ValidatingAdmissionPolicy"): {
        "spec": {"failurePolicy": "Fail"},
        "status": {},
    },
    ("apiextensions.k8s.io", "CustomResourceDefinition"): {
        "spec": {"conversion": {"strategy": "None"}}
    },
}

_AT_CREATION: dict[tuple[str, str], Document] = {
    ("", "Namespace"): {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}},
    ("", "Pod"): {"status": {"phase": "Pending"}},
}


def fill(group: str, kind: str, document: Document) -> Document:
    """A copy of the document with the defaults of its kind."""
    filled = _filled(document, _ALWAYS.get((group, kind), {}))
    special = _SPECIAL.get((group, kind))
    return special(filled) if special else filled


def begin(group: str, kind: str, document: Document) -> Document:
    """A copy of a new object with the defaults that only new objects get."""
    begun = _filled(document, _AT_CREATION.get((group, kind), {}))
    if (group, kind) == ("", "Namespace"):
        labels = {"kubernetes.io/metadata.name": document["metadata"]["name"]}
        begun["metadata"] = _filled(document["metadata"], {"labels": labels})
    if (group, kind) == ("batch", "Job"):
        return _job_with_selector(begun)
    return begun


def _job_with_selector(job: Document) -> Document:
    """A job without `manualSelector` selects its pods by its uid."""
    if _part(job, "spec").get("manualSelector"):
        return job
    uid, name = job["metadata"]["uid"], job["metadata"]["name"]
    labels = {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
    }
    selector = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    spec = {"selector": selector, "template": {"metadata": {"labels": labels}}}
    return _filled(job, {"metadata": {"labels": labels}, "spec": spec})


def _part(document: Document, key: str) -> Document:
    """The object in a field; empty if the field holds no object."""
    found = document.get(key)
    return found if isinstance(found, dict) else {}


def _parts(document: Document, key: str) -> list[Document]:
    """The objects in a list field; empty if the field holds no such list."""
    found = document.get(key)
    is_list = isinstance(found, list) and all(isinstance(each, dict) for each in found)
    return found if is_list and found is not None else []


def _with_spec(document: Document, **changes: Any) -> Document:
    return {**document, "spec": {**_part(document, "spec"), **changes}}


def _filled(given: Document, defaults: Document) -> Document:
    filled = dict(given)
    for key, value in defaults.items():
        if filled.get(key) is None:
            filled[key] = copy.deepcopy(value)
        elif isinstance(value, dict) and isinstance(filled[key], dict):
            filled[key] = _filled(filled[key], value)
    return filled


def _secret(secret: Document) -> Document:
    """Moves `stringData` into `data`; a value of the wrong type stays for the schema to refuse."""
    texts, data = secret.get("stringData"), secret.get("data")
    if not isinstance(texts, dict) or not (data is None or isinstance(data, dict)):
        return secret
    encoded = {
        key: base64.b64encode(value.encode()).decode()
        for key, value in texts.items()
        if isinstance(value, str)
    }
    kept = {key: value for key, value in secret.items() if key != "stringData"}
    return {**kept, "data": {**(data or {}), **encoded}}


def _pod(pod: Document) -> Document:
    if pod.get("spec") is not None and not isinstance(pod["spec"], dict):
        return pod
    spec = pods.completed(pods.filled(_part(pod, "spec")))
    return {**pod, "spec": _filled(spec, {"enableServiceLinks": True})}


def _node(node: Document) -> Document:
    """`allocatable` is the capacity until the kubelet sets it."""
    status = _part(node, "status")
    if not isinstance(status.get("capacity"), dict) or status.get("allocatable") is not None:
        return node
    return {**node, "status": {**status, "allocatable": dict(status["capacity"])}}


def _with_template(workload: Document) -> Document:
    """A workload with a pod as `spec.template`."""
    template = _part(_part(workload, "spec"), "template")
    if not template or not isinstance(template.get("spec", {}), dict):
        return workload
    filled = {"metadata": {}, **template, "spec": pods.filled(_part(template, "spec"))}
    return _with_spec(workload, template=filled)


def _daemon_set(daemon_set: Document) -> Document:
    strategy = _part(_part(daemon_set, "spec"), "updateStrategy")
    if strategy.get("type") == "RollingUpdate":
        rolling = _filled(strategy, {"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}})
        daemon_set = _with_spec(daemon_set, updateStrategy=rolling)
    return _with_template(daemon_set)


def _job(job: Document) -> Document:
    spec = _part(job, "spec")
    if not spec:
        return job
    counts = {"parallelism": 1}
    if spec.get("completions") is None and spec.get("parallelism") is None:
        counts["completions"] = 1
    return _with_template({**job, "spec": _filled(spec, counts)})


def _cron_job(cron_job: Document) -> Document:
    template = _part(_part(cron_job, "spec"), "jobTemplate")
    if not template:
        return cron_job
    return _with_spec(cron_job, jobTemplate={"metadata": {}, **_with_template(template)})


def _binding_of_role(binding: Document) -> Document:
    subjects = [
        _filled(each, {"apiGroup": _RBAC}) if each.get("kind") in ("User", "Group") else each
        for each in _parts(binding, "subjects")
    ]
    return {**binding, "subjects": subjects} if subjects else binding


def _definition(definition: Document) -> Document:
    kind = _part(_part(definition, "spec"), "names").get("kind")
    if not isinstance(kind, str) or not kind:
        return definition
    derived = {"singular": kind.lower(), "listKind": f"{kind}List"}
    return _filled(definition, {"spec": {"names": derived}})


_SPECIAL: dict[tuple[str, str], Callable[[Document], Document]] = {
    ("", "Node"): _node,
    ("", "Pod"): _pod,
    ("", "Secret"): _secret,
    ("apps", "DaemonSet"): _daemon_set,
    ("batch", "Job"): _job,
    ("batch", "CronJob"): _cron_job,
    (_RBAC, "ClusterRoleBinding"): _binding_of_role,
    (_RBAC, "RoleBinding"): _binding_of_role,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
}
