"""Admission that adds a label and a sidecar to DaemonSets and pods, as injectors do."""

import contextlib
import json
from collections.abc import Iterator
from typing import Any

from tests.deploy.manifests import NAMESPACE
from tests.real.bed import waiting
from tests.real.bed.api_server import ApiServer

LABEL = "injected"
KINDS = "mutatingadmissionpolicies,mutatingadmissionpolicybindings"


@contextlib.contextmanager
def injected(server: ApiServer, *, into_daemon_sets: str, into_pods: str) -> Iterator[None]:
    """Images of the sidecars; that of pods is added to the one that their DaemonSet has."""
    policies = (
        *_policy("daemonsets", "apps", "Object.spec.template", into_daemon_sets),
        *_policy("pods", "", "Object", into_pods),
    )
    body = {"apiVersion": "v1", "kind": "List", "items": policies}
    server.kubectl("apply", "-f", "-", stdin=json.dumps(body))
    try:
        waiting.until(lambda: _is_in_force(server), what="pods and DaemonSets get their sidecars")
        yield
    finally:
        server.kubectl("delete", KINDS, "--all")


def _policy(resource: str, group: str, pod: str, image: str) -> tuple[dict[str, Any], ...]:
    """By server-side apply, so that adding it twice changes nothing."""
    container = (
        f'{pod}.spec.containers{{name: "of-{resource}", image: "{image}",'
        f" securityContext: {pod}.spec.containers.securityContext{{"
        "allowPrivilegeEscalation: false}}"
    )
    content = (
        f'metadata: {pod}.metadata{{labels: {{"{LABEL}": "true"}}}},'
        f" spec: {pod}.spec{{containers: [{container}]}}"
    )
    whole = (
        f"Object{{{content}}}"
        if pod == "Object"
        else f"Object{{spec: Object.spec{{template: {pod}{{{content}}}}}}}"
    )
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
                    "patchType": "ApplyConfiguration",
                    "applyConfiguration": {"expression": whole},
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
            *("create", "--dry-run=server", "--output=json", f"--namespace={NAMESPACE}"),
            *("-f", "-"),
            stdin=json.dumps({**one, "metadata": {"name": "try", "labels": labels}}),
        )
        for one in tries
    )
    return all(LABEL in answer for answer in answers)
