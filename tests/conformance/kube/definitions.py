"""Builders of definitions."""

import secrets

from lading.kernel.objects import Resource
from tests.conformance.kube.api import (
    DEFINITIONS,
    Document,
    resource,
)

GROUP = "conformance.lading.example"


def definition() -> tuple[Resource[Document], Document]:
    """A definition of its own for a test, cluster-wide and small."""
    kind = f"Gadget{secrets.token_hex(4)}"
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    body = {
        "apiVersion": DEFINITIONS.api_version,
        "kind": DEFINITIONS.kind,
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {"kind": kind, "plural": plural},
            "versions": [version],
        },
    }
    return resource(plural, kind, group=GROUP, namespaced=False), body
