"""Definitions of kinds of OpenShift and Cluster API, without validation.

The embedded API server and tests install them, to have machine sets. A cluster with the real kinds
never gets them.
"""

from collections.abc import Iterable
from typing import Any

from lading.api.cluster_api import (
    CLUSTER_MACHINE_SETS,
    CLUSTER_MACHINES,
    CLUSTERS,
    MACHINE_DEPLOYMENTS,
    VERSIONS,
    infrastructure_machines,
    machine_templates,
)
from lading.api.machine import CONTROL_PLANE_MACHINE_SETS, MACHINE_SETS, MACHINES
from lading.api.openshift_config import CLUSTER_VERSIONS, INFRASTRUCTURES
from lading.kernel.objects import Resource

_ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_CLOUDS = ("GCP", "AWS", "Azure")
_RESOURCES: tuple[tuple[Resource[Any], tuple[str, ...]], ...] = (
    (MACHINE_SETS, ("v1beta1",)),
    (MACHINES, ("v1beta1",)),
    (CONTROL_PLANE_MACHINE_SETS, ("v1",)),
    (CLUSTERS, VERSIONS),
    (CLUSTER_MACHINE_SETS, VERSIONS),
    (MACHINE_DEPLOYMENTS, VERSIONS),
    (CLUSTER_MACHINES, VERSIONS),
    *((machine_templates(f"{one}MachineTemplate", "v1beta1"), ("v1beta1",)) for one in _CLOUDS),
    *((infrastructure_machines(f"{one}Machine", "v1beta1"), ("v1beta1",)) for one in _CLOUDS),
    (CLUSTER_VERSIONS, ("v1",)),
    (INFRASTRUCTURES, ("v1",)),
)


def manifests() -> Iterable[dict[str, Any]]:
    """One CustomResourceDefinition for each kind."""
    return (_manifest(resource, versions) for resource, versions in _RESOURCES)


def _manifest(resource: Resource[Any], versions: tuple[str, ...]) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{resource.group}"},
        "spec": {
            "group": resource.group,
            "names": {
                "kind": resource.kind,
                "listKind": f"{resource.kind}List",
                "plural": resource.plural,
                "singular": resource.kind.lower(),
            },
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": version == versions[0],
                    "schema": {"openAPIV3Schema": _ANYTHING},
                    "subresources": {"status": {}},
                }
                for version in versions
            ],
        },
    }
