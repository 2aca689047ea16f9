"""A small golden ConfigMap with values of a real release."""

import copy
import json
from typing import Any

RELEASE = "9.8.20260428-0"
VERSION = "4.21.3"
GCP_IMAGE = "projects/rhcos-cloud/global/images/rhcos-9-8-20260428-0-gcp-x86-64"
GCP_IMAGE_ARM = "projects/rhcos-cloud/global/images/rhcos-9-8-20260428-0-gcp-aarch64"
GCP_IMAGE_OLD = "projects/rhcos-cloud/global/images/rhcos-411-85-202203181601-0-gcp-x86-64"
AMI, AMI_ARM, AMI_OLD = "ami-009e48dde0d8a95d9", "ami-0a00000000000000a", "ami-0123456789abcdef0"
OVA = f"https://rhcos.mirror.openshift.com/art/{RELEASE}/rhcos-{RELEASE}-vmware.x86_64.ova"


def marketplace(publisher: str, offer: str, sku: str, version: str) -> dict[str, str]:
    return {"publisher": publisher, "offer": offer, "sku": sku, "version": version}


AZURE = {
    "no-purchase-plan": {
        "hyperVGen1": marketplace("azureopenshift", "aro4", "aro_422", "9.8.20260428"),
        "hyperVGen2": marketplace("azureopenshift", "aro4", "aro_422-v2", "9.8.20260428"),
    },
    "ocp": {
        "hyperVGen1": marketplace("redhat", "rh-ocp-worker", "rh-ocp-worker-gen1", "9.6.1"),
        "hyperVGen2": marketplace("redhat", "rh-ocp-worker", "rh-ocp-worker", "9.6.1"),
    },
    "opp-emea": {
        "hyperVGen2": marketplace("redhat-limited", "rh-opp-worker", "rh-opp-worker", "9.6.1"),
    },
}
AZURE_ARM = {
    "no-purchase-plan": {
        "hyperVGen2": marketplace("azureopenshift", "aro4", "aro_422-arm", "9.8.20260428")
    }
}


def _aws(image: str) -> dict[str, Any]:
    return {"regions": {"us-east-1": {"release": RELEASE, "image": image}}}


def _gcp(suffix: str) -> dict[str, str]:
    name = f"rhcos-9-8-20260428-0-gcp-{suffix}"
    return {"release": RELEASE, "project": "rhcos-cloud", "name": name}


def _artifact(kind: str, location: str) -> dict[str, Any]:
    return {"release": RELEASE, "formats": {kind: {"disk": {"location": location, "sha256": "0"}}}}


STREAM: dict[str, Any] = {
    "stream": "rhcos-4.21",
    "architectures": {
        "x86_64": {
            "artifacts": {
                "vmware": _artifact("ova", OVA),
                "openstack": _artifact("qcow2.gz", "https://example.com/openstack.qcow2.gz"),
                "nutanix": _artifact("qcow2", "https://example.com/nutanix.qcow2"),
                "metal": _artifact("iso", "https://example.com/metal.iso"),
            },
            "images": {"aws": _aws(AMI), "gcp": _gcp("x86-64")},
            "rhel-coreos-extensions": {"marketplace": {"azure": AZURE}},
        },
        "aarch64": {
            "images": {"aws": _aws(AMI_ARM), "gcp": _gcp("aarch64")},
            "rhel-coreos-extensions": {"marketplace": {"azure": AZURE_ARM}},
        },
        "ppc64le": {
            "images": {
                "powervs": {
                    "regions": {
                        "au-syd": {"release": RELEASE, "url": "https://example.com/p.ova.gz"}
                    }
                }
            }
        },
        "s390x": {"images": {}},
    },
}


def stream() -> dict[str, Any]:
    return copy.deepcopy(STREAM)


def data(**overrides: str) -> dict[str, str]:
    """The data of the golden ConfigMap."""
    return {"stream": json.dumps(STREAM), "releaseVersion": VERSION, **overrides}
