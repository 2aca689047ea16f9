"""Admission that adds a label to DaemonSets, and a label and a sidecar to pods, as injectors do."""

import contextlib
import json
from collections.abc import Iterator
from typing import Any

from tests.real.bed import waiting
from tests.real.bed.api_server import ApiServer

LABEL = "injected"
FIELDS = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
KINDS = "mutatingadmissionpolicies,mutatingadmissionpolicybindings"


@contextlib.contextmanager
def injected(server: ApiServer, *, into_pods: str) -> Iterator[None]:
    """The image of the sidecar, which is one that a restricted namespace accepts."""
    template = "Object.spec.template"
    label = f'{template}.metadata{{labels: {{"{LABEL}": "true"}}}}'
    daemon_sets = f"Object{{spec: Object.spec{{template: {template}{{metadata: {label}}}}}}}"
    container = "Object.spec.containers"
    security = (
        f"{container}.securityContext{{allowPrivilegeEscalation: false,"
        f' capabilities: {container}.securityContext.capabilities{{drop: ["ALL"]}}}}'
    )
    sidecar = f'{container}{{name: "of-pods", image: "{into_pods}", securityContext: {security}}}'
    pods = (
        f'[JSONPatch{{op: "add", path: "/spec/containers/-", value: {sidecar}}},'
        f' JSONPatch{{op: "add", path: "/metadata/labels/{LABEL}", value: "true"}}]'
    )
    policies = (
        *_policy("daemonsets", "apps", "ApplyConfiguration", daemon_sets),
        *_policy("pods", "", "JSONPatch", pods),
    )
    body = {"apiVersion": "v1", "kind": "List", "items": policies}
    server.kubectl("apply", "-f", "-", stdin=json.dumps(body))
    try:
        waiting.until(lambda: _is_in_force(server), what="pods and DaemonSets get their sidecars")
        yield
    finally:
        server.kubectl("delete", KINDS, "--all")


def _policy(
    resource: str, group: str, patch_type: str, expression: str
) -> tuple[dict[str, Any], ...]:
    """DaemonSets are written again and again, and adding to them twice must change nothing."""
    name, version = f"inject-into-{resource}", "admissionregistration.k8s.io/v1"
    rule = {
        "apiGroups": [group],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"] if group else ["CREATE"],
        "resources": [resource],
    }
    policy = {
        "apiVersion": version,
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "mutations": [
                {
                    "patchType": patch_type,
                    FIELDS[patch_type]: {"expression": expression},
                }
            ],
        },
    }
    binding = {
        "apiVersion": version,
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name},
    }
    return policy, binding


def _is_in_force(server: ApiServer) -> bool:
    labels = {"a": "b"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    tries: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Pod", **pod},
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "spec": {"selector": {"matchLabels": labels}, "template": pod},
        },
    ]
    answers = (
        server.kubectl(
            *("create", "--dry-run=server", "--output=json", "--namespace=default"),
            *("-f", "-"),
            stdin=json.dumps({**one, "metadata": {"name": "try", "labels": labels}}),
        )
        for one in tries
    )
    return all(LABEL in answer for answer in answers)
