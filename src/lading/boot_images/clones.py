"""Copies of infrastructure templates: they are immutable, so a new image needs one. Pure."""

import copy
import hashlib
import json
from typing import Any

from lading.api.cluster_api import MachineTemplate
from lading.api.definitions import OWNER, OWNER_LABEL
from lading.boot_images.platforms.types import BootImage, Path

NAME_CHARACTERS_MAX = 63  # a template's name may become a label
TRACKING_LABELS = ("app.kubernetes.io/instance", OWNER_LABEL)
TRACKING_DOMAINS = (
    "argocd.argoproj.io/",
    "kustomize.toolkit.fluxcd.io/",
    "helm.toolkit.fluxcd.io/",
)
SOURCE_ANNOTATION = "lading.dev/copy-of"
UNUSED_ANNOTATION = "lading.dev/unused-since"


def clone(
    template: MachineTemplate, *, machine_set: str, path: Path, image: BootImage
) -> dict[str, Any]:
    """The same template with another image, under a name that follows from its content."""
    spec = copy.deepcopy(template.spec)
    machine = spec["template"]["spec"]
    for step in path[:-1]:
        machine = machine[step]
    machine[path[-1]] = image.value
    content = json.dumps(spec["template"]["spec"], sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(content.encode()).hexdigest()[:8]
    base = machine_set[: NAME_CHARACTERS_MAX - len(digest) - 1].rstrip("-.")
    return {
        "apiVersion": template.api_version,
        "kind": template.kind,
        "metadata": {
            "name": f"{base}-{digest}",
            "namespace": template.metadata.namespace,
            "labels": {**_own_labels(template), OWNER_LABEL: OWNER},
            "annotations": {SOURCE_ANNOTATION: template.metadata.name},
        },
        "spec": spec,
    }


def is_ours(template: MachineTemplate) -> bool:
    metadata = template.metadata
    return metadata.labels.get(OWNER_LABEL) == OWNER and SOURCE_ANNOTATION in metadata.annotations


def holds(present: Any, wanted: Any) -> bool:
    """Whether a stored spec is the wanted one; the API server may have added defaults."""
    if isinstance(wanted, dict):
        return isinstance(present, dict) and all(
            key in present and holds(present[key], one) for key, one in wanted.items()
        )
    return bool(present == wanted)


def _own_labels(template: MachineTemplate) -> dict[str, str]:
    """Without those by which a GitOps tool would take the copy for its own and prune it."""
    return {
        key: value
        for key, value in template.metadata.labels.items()
        if key not in TRACKING_LABELS and not key.startswith(TRACKING_DOMAINS)
    }
