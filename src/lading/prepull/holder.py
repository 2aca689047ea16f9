"""The DaemonSet that holds the images: one container for each, which does nothing but wait. Pure.

A container keeps its image: the kubelet removes no image that a container uses. The program that
waits comes from Lading's own image, so an image without a shell can be held too.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lading.api.apps import DAEMON_SETS
from lading.api.definitions import OWNER, OWNER_LABEL
from lading.api.longhorn import IMAGES, Image
from lading.prepull.types import (
    HOLDER_LABEL,
    HOLDER_LABEL_VALUE,
    HOLDER_NAME,
    PrePullSettings,
    Toleration,
)

NAME = HOLDER_NAME
HOLDER_SELECTOR = f"{HOLDER_LABEL}={HOLDER_LABEL_VALUE}"
SCHEDULING_GATE = "lading.dev/prepull-wave"
TEMPLATE_ANNOTATION = "lading.dev/prepull-template"
"""The hash of the template, on the DaemonSet and on its pods."""
INIT_CONTAINER = "copy-hold"
HOLD_FOLDER = "/lading-hold"
HOLD_COMMAND = (f"{HOLD_FOLDER}/hold",)
HOLD_PROGRAM = "/usr/local/bin/lading-hold"
"""Where the program is in Lading's own image; given a path, it copies itself there."""
CONTAINER_PREFIX = "image-"
_VOLUME = "hold"
_INIT_RESOURCES = {
    "requests": {"cpu": "1m", "memory": "1Mi"},
    "limits": {"cpu": "100m", "memory": "32Mi"},
}
_HASH_CHARACTERS = 10
_CONTAINER_SECURITY = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
_LABELS = {
    "app.kubernetes.io/name": "lading",
    "app.kubernetes.io/component": "prepull",
    HOLDER_LABEL: HOLDER_LABEL_VALUE,
}

Document = dict[str, Any]


def container_name(url: str) -> str:
    """The same for a URL in every template, so that a container is found by it."""
    return CONTAINER_PREFIX + hashlib.sha256(url.encode()).hexdigest()[:_HASH_CHARACTERS]


def daemon_set(
    urls: Sequence[str],
    owners: Iterable[Image],
    settings: PrePullSettings,
    *,
    namespace: str,
    hold_image: str,
) -> Document:
    """The whole object; the hash of its template is in its annotation and in that of its pods."""
    template = _template(urls, settings, hold_image)
    template_hash = hash_of(template)
    annotations = {TEMPLATE_ANNOTATION: template_hash}
    template["metadata"]["annotations"] |= annotations
    return {
        "apiVersion": DAEMON_SETS.api_version,
        "kind": DAEMON_SETS.kind,
        "metadata": {
            "name": NAME,
            "namespace": namespace,
            "labels": {**_LABELS, OWNER_LABEL: OWNER},
            "annotations": annotations,
            "ownerReferences": [_owner(one) for one in owners],
        },
        "spec": {
            "selector": {"matchLabels": dict(_LABELS)},
            "minReadySeconds": 0,
            "revisionHistoryLimit": 2,
            "updateStrategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": "100%", "maxUnavailable": 0},
            },
            "template": template,
        },
    }


def hash_of(template: Mapping[str, Any]) -> str:
    text = json.dumps(template, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _owner(image: Image) -> Document:
    return {
        "apiVersion": IMAGES.api_version,
        "kind": IMAGES.kind,
        "name": image.metadata.name,
        "uid": image.metadata.uid,
    }


def _template(urls: Sequence[str], settings: PrePullSettings, hold_image: str) -> Document:
    return {
        "metadata": {
            "labels": dict(_LABELS),
            "annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"},
        },
        "spec": _pod(urls, settings, hold_image),
    }


def _pod(urls: Sequence[str], settings: PrePullSettings, hold_image: str) -> Document:
    spec: Document = {
        "schedulingGates": [{"name": SCHEDULING_GATE}],
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 5,
        "nodeSelector": settings.node_labels,
        "securityContext": _pod_security(settings.user_id),
        "initContainers": [_init_container(hold_image)],
        "containers": [_container(url, settings) for url in urls],
        "volumes": [{"name": _VOLUME, "emptyDir": {"sizeLimit": "8Mi"}}],
    }
    if settings.priority_class:
        spec["priorityClassName"] = settings.priority_class
    if settings.tolerations:
        spec["tolerations"] = [_toleration(one) for one in settings.tolerations]
    if settings.affinity:
        spec["affinity"] = dict(settings.affinity)
    if settings.pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in settings.pull_secrets]
    return spec


def _pod_security(user_id: int | None) -> Document:
    security: Document = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    if user_id is not None:
        security |= {"runAsUser": user_id, "runAsGroup": user_id}
    return security


def _init_container(hold_image: str) -> Document:
    return {
        "name": INIT_CONTAINER,
        "image": hold_image,
        "imagePullPolicy": "IfNotPresent",
        "command": [HOLD_PROGRAM, *HOLD_COMMAND],
        "resources": _INIT_RESOURCES,
        "securityContext": _CONTAINER_SECURITY,
        "volumeMounts": [{"name": _VOLUME, "mountPath": HOLD_FOLDER}],
    }


def _container(url: str, settings: PrePullSettings) -> Document:
    """The folder is `/`, because an image may name one that its user cannot enter."""
    return {
        "name": container_name(url),
        "image": url,
        "imagePullPolicy": "IfNotPresent",
        "command": list(HOLD_COMMAND),
        "workingDir": "/",
        "resources": dict(settings.resources),
        "securityContext": _CONTAINER_SECURITY,
        "volumeMounts": [{"name": _VOLUME, "mountPath": HOLD_FOLDER, "readOnly": True}],
    }


def _toleration(one: Toleration) -> Document:
    fields = {
        "key": one.key,
        "operator": "Equal" if one.value else "Exists",
        "value": one.value,
        "effect": one.effect,
    }
    return {name: value for name, value in fields.items() if value}
