"""A machine set of an old release, and the golden ConfigMap of a new one."""

import base64
import json
from typing import Any

from lading.api.core import CONFIG_MAPS, NAMESPACES, SECRETS
from lading.api.machine import MACHINE_SETS
from lading.api.operator import MACHINE_CONFIGURATIONS
from lading.kernel.objects import Resource
from lading.ports.kube import Kube

MACHINE_NAMESPACE = "openshift-machine-api"
GOLDEN_NAMESPACE = "openshift-machine-config-operator"
NAME = "worker-a"
STUB = "worker-user-data"
RELEASE = "4.21.3"
_PROJECT = "rhcos-cloud"
_NEW_NAME = "rhcos-9-8-20260428-0-gcp-x86-64"
OLD_IMAGE = f"projects/{_PROJECT}/global/images/rhcos-45-82-202008010929-0-gcp-x86-64"
NEW_IMAGE = f"projects/{_PROJECT}/global/images/{_NEW_NAME}"


def provider_spec(image: str = OLD_IMAGE, stub: str = STUB) -> dict[str, Any]:
    return {
        "kind": "GCPMachineProviderSpec",
        "machineType": "n1-standard-4",
        "disks": [{"boot": True, "image": image, "sizeGb": 128}],
        "userDataSecret": {"name": stub},
    }


def stub_of_specification_2() -> dict[str, Any]:
    """The stub that installers wrote until release 4.5."""
    source = "https://api-int.example.com:22623/config/worker"
    return {"ignition": {"version": "2.2.0", "config": {"append": [{"source": source}]}}}


def stub_in(data: str) -> Any:
    """The stub in a key of a Secret."""
    return json.loads(base64.b64decode(data))


async def create(kube: Kube) -> None:
    for name in (MACHINE_NAMESPACE, GOLDEN_NAMESPACE):
        await kube.create(NAMESPACES, _body(NAMESPACES, name))
    gcp = {"release": "9.8.20260428-0", "project": _PROJECT, "name": _NEW_NAME}
    stream = {"stream": "rhcos-4.21", "architectures": {"x86_64": {"images": {"gcp": gcp}}}}
    data = {"releaseVersion": RELEASE, "stream": json.dumps(stream)}
    golden = _body(CONFIG_MAPS, "coreos-bootimages", GOLDEN_NAMESPACE)
    await kube.create(CONFIG_MAPS, {**golden, "data": data}, namespace=GOLDEN_NAMESPACE)
    stub = base64.b64encode(json.dumps(stub_of_specification_2()).encode()).decode()
    secret = {**_body(SECRETS, STUB, MACHINE_NAMESPACE), "data": {"userData": stub}}
    await kube.create(SECRETS, secret, namespace=MACHINE_NAMESPACE)
    spec = {"template": {"spec": {"providerSpec": {"value": provider_spec()}}}}
    machine_set = {**_body(MACHINE_SETS, NAME, MACHINE_NAMESPACE), "spec": spec}
    await kube.create(MACHINE_SETS, machine_set, namespace=MACHINE_NAMESPACE)


async def enrol(kube: Kube) -> None:
    spec = {"managedBootImageConfig": {"mode": "Enabled"}}
    await kube.create(
        MACHINE_CONFIGURATIONS, {**_body(MACHINE_CONFIGURATIONS, "default"), "spec": spec}
    )


def _body(resource: Resource[Any], name: str, namespace: str = "") -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
