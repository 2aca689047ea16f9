"""Machine sets and what surrounds them, with defaults: what a test writes matters to it."""

import base64
import datetime
import json
from collections.abc import Mapping
from typing import Any

import msgspec

from lading.api.cluster_api import MachineTemplate
from lading.api.core import ConfigMap, Node, Secret
from lading.api.machine import MachineSet
from lading.api.openshift_config import ClusterVersion, Infrastructure
from lading.api.operator import MachineConfiguration
from lading.boot_images.platforms.types import Api
from lading.boot_images.types import ObservedMachineSets, UnreadSecret
from lading.kernel.objects import Key
from tests.boot_images import streams
from tests.boot_images.ignition import stubs

NOW = datetime.datetime(2026, 11, 16, tzinfo=datetime.UTC)
MACHINE_NAMESPACE, CLUSTER_NAMESPACE = "openshift-machine-api", "openshift-cluster-api"
NAMESPACE = "lading-system"
INFRA = "mycluster-x7k2p"


def gcp_spec(image: Any = streams.GCP_IMAGE_OLD, **fields: Any) -> dict[str, Any]:
    return {
        "kind": "GCPMachineProviderSpec",
        "disks": [{"boot": True, "image": image, "sizeGb": 128}],
        "userDataSecret": {"name": "worker-user-data"},
        "unknown": {"kept": None},
        **fields,
    }


def machine_set(
    name: str = "worker-a",
    value: Any = None,
    *,
    metadata: Mapping[str, Any] | None = None,
    status: Any = None,
    spec: Any = None,
) -> MachineSet:
    """One of OpenShift's API, on Google Cloud with an old image of ours."""
    whole = {"template": {"spec": {"providerSpec": {"value": value or gcp_spec()}}}}
    return msgspec.convert(
        {
            "metadata": {
                "name": name,
                "namespace": MACHINE_NAMESPACE,
                "uid": f"uid-{name}",
                "resourceVersion": "7",
                **(metadata or {}),
            },
            "spec": whole if spec is None else spec,
            "status": status,
        },
        MachineSet,
    )


def cluster_machine_set(
    name: str = "worker-a",
    *,
    cluster: str = INFRA,
    template: str = "template-a",
    bootstrap: Any = None,
    metadata: Mapping[str, Any] | None = None,
) -> MachineSet:
    """One of Cluster API."""
    machine = {
        "bootstrap": bootstrap or {"dataSecretName": "worker-user-data"},
        "infrastructureRef": {"kind": "GCPMachineTemplate", "name": template},
    }
    spec = {"clusterName": cluster, "template": {"spec": machine}}
    merged = {"namespace": CLUSTER_NAMESPACE, **(metadata or {})}
    return machine_set(name, spec=spec, metadata=merged)


def template(
    name: str = "template-a", image: Any = streams.GCP_IMAGE_OLD, **metadata: Any
) -> MachineTemplate:
    return msgspec.convert(
        {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
            "kind": "GCPMachineTemplate",
            "metadata": {"name": name, "namespace": CLUSTER_NAMESPACE, **metadata},
            "spec": {"template": {"spec": {"image": image, "instanceType": "n1-standard-4"}}},
        },
        MachineTemplate,
    )


def templates(*found: MachineTemplate) -> dict[tuple[str, str, str], MachineTemplate]:
    return {(one.kind, one.metadata.namespace, one.metadata.name): one for one in found}


def secret(
    stub: Any = None,
    *,
    name: str = "worker-user-data",
    namespace: str = MACHINE_NAMESPACE,
    key: str = "userData",
    **metadata: Any,
) -> Secret:
    """A dict is written as JSON, bytes as they are."""
    content = stub if isinstance(stub, bytes) else json.dumps(stub or stubs.spec_3()).encode()
    return msgspec.convert(
        {
            "metadata": {"name": name, "namespace": namespace, "resourceVersion": "3", **metadata},
            "type": "Opaque",
            "data": {key: base64.b64encode(content).decode(), "disableTemplating": "dHJ1ZQo="},
        },
        Secret,
    )


def by_key(*secrets: Secret) -> dict[Key, Secret | UnreadSecret]:
    return {one.key: one for one in secrets}


def configuration(name: str = "default", **spec: Any) -> MachineConfiguration:
    enabled = {"managedBootImageConfig": {"mode": "Enabled"}}
    body = {"metadata": {"name": name, "generation": 1}, "spec": spec or enabled}
    return msgspec.convert(body, MachineConfiguration)


def golden(annotations: Mapping[str, str] | None = None, **data: str) -> ConfigMap:
    return msgspec.convert(
        {
            "metadata": {
                "name": "coreos-bootimages",
                "namespace": "openshift-machine-config-operator",
                "resourceVersion": "9",
                "annotations": dict(annotations or {}),
            },
            "data": streams.data(**data),
        },
        ConfigMap,
    )


def cluster_version(
    state: str = "Completed", version: str = streams.VERSION, architecture: str = ""
) -> ClusterVersion:
    status = {
        "history": [{"state": state, "version": version}],
        "desired": {"architecture": architecture},
    }
    return msgspec.convert({"metadata": {"name": "version"}, "status": status}, ClusterVersion)


def infrastructure(name: str = INFRA) -> Infrastructure:
    return msgspec.convert(
        {"metadata": {"name": "cluster"}, "status": {"infrastructureName": name}}, Infrastructure
    )


def node(
    name: str = "node-a",
    *,
    ready: str = "True",
    architecture: str = "amd64",
    os_image: str = "",
    labels: Mapping[str, str] | None = None,
) -> Node:
    return msgspec.convert(
        {
            "metadata": {"name": name, "labels": dict(labels or {})},
            "status": {
                "conditions": [{"type": "Ready", "status": ready}],
                "nodeInfo": {"architecture": architecture, "osImage": os_image},
            },
        },
        Node,
    )


def observed(
    *machine_sets: MachineSet, api: Api = Api.MACHINE, **facts: Any
) -> ObservedMachineSets:
    """A cluster that completed its update and enrols every machine set."""
    namespace = MACHINE_NAMESPACE if api is Api.MACHINE else CLUSTER_NAMESPACE
    key = "userData" if api is Api.MACHINE else "value"
    return ObservedMachineSets(
        **{
            "api": api,
            "machine_sets": machine_sets,
            "templates": templates(template()) if api is Api.CLUSTER else {},
            "configurations": (configuration(),),
            "golden": golden(),
            "cluster_version": cluster_version(),
            "infrastructure": infrastructure(),
            "nodes": (node(),),
            "secrets": by_key(secret(namespace=namespace, key=key)),
            **facts,
        }
    )
