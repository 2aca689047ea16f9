"""The DaemonSet that holds the images: one container for each, which only waits. Pure.

The kubelet removes no image that a container uses or mounts as a volume. The program that waits is
Lading's own. With image volumes nothing of the held image runs. If a node cannot mount them, a
container of each image runs the program, which an init container copies into an empty folder. The
name of that folder comes from a key: an image that knew the name could bring its own program.
"""

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lading.api.core import DAEMON_SETS, DaemonSet, Pod, Secret
from lading.api.definitions import OWNER, OWNER_LABEL
from lading.api.longhorn import IMAGES, Image
from lading.prepull.holding import HoldingWay
from lading.prepull.types import (
    HOLD_FOLDER_PREFIX,
    HOLD_PROGRAM,
    HOLDER_LABEL,
    HOLDER_LABEL_VALUE,
    HOLDER_LABELS,
    HOLDER_NAME,
    IMAGE_FOLDER,
    HoldKey,
    PrePullSettings,
    Toleration,
)

NAME = HOLDER_NAME
HOLDER_SELECTOR = f"{HOLDER_LABEL}={HOLDER_LABEL_VALUE}"
SCHEDULING_GATE = "lading.dev/prepull-wave"
TEMPLATE_ANNOTATION = "lading.dev/prepull-template"
"""The hash of the template, on the DaemonSet and on its pods."""
INIT_CONTAINER = "copy-hold"
CONTAINER_PREFIX = "image-"
_FOLDER_CHARACTERS = 32
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

KEY_FIELD = "key"
KEY_BYTES = 32

Document = dict[str, Any]


class BadHoldKey(Exception):
    """The Secret has no key. Lading did not write it."""


def container_name(url: str) -> str:
    """The same for a URL in every template."""
    return CONTAINER_PREFIX + hashlib.sha256(url.encode()).hexdigest()[:_HASH_CHARACTERS]


def held(pod: Pod) -> dict[str, str]:
    """The URLs of the images that the pod really holds, by container.

    An API server without image volumes drops them. The name of a container is the hash of its URL,
    which shows that a container has lost its volume.
    """
    volumes = {one.name: one.image.reference for one in pod.spec.volumes if one.image}
    urls = {one.name: volumes.get(one.name, one.image) for one in pod.spec.containers}
    return {name: url for name, url in urls.items() if container_name(url) == name}


def is_ours(found: DaemonSet | None) -> bool:
    return found is not None and found.metadata.labels.get(OWNER_LABEL) == OWNER


def containers(found: DaemonSet) -> tuple[str, ...]:
    """The names of the containers that hold images."""
    names = (one["name"] for one in _pod_of(found.spec).get("containers") or ())
    return tuple(name for name in names if name.startswith(CONTAINER_PREFIX))


def key_of(secret: Secret) -> HoldKey:
    try:
        value = base64.b64decode(secret.data.get(KEY_FIELD, ""), validate=True)
    except binascii.Error:
        value = b""
    if len(value) < KEY_BYTES:
        raise BadHoldKey(
            f"data.{KEY_FIELD}: expected {KEY_BYTES} bytes. Delete the Secret; the controller"
            " creates it again."
        )
    return HoldKey(value)


def way_of(spec: Mapping[str, Any]) -> HoldingWay | None:
    """None for the DaemonSet of a release before image volumes."""
    if keeps_image_volumes(spec):
        return HoldingWay.IMAGE_VOLUMES
    mounts = (
        mount.get("mountPath", "")
        for one in _pod_of(spec).get("initContainers") or ()
        for mount in one.get("volumeMounts") or ()
    )
    is_keyed = any(path.startswith(HOLD_FOLDER_PREFIX) for path in mounts)
    return HoldingWay.CONTAINERS if is_keyed else None


def keeps_image_volumes(spec: Mapping[str, Any]) -> bool:
    return any(one.get("image") for one in _pod_of(spec).get("volumes") or ())


def _pod_of(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    return (spec.get("template") or {}).get("spec") or {}


def daemon_set(
    urls: Sequence[str],
    owners: Iterable[Image],
    settings: PrePullSettings,
    *,
    namespace: str,
    hold_image: str,
    key: HoldKey | None = None,
) -> Document:
    """The whole object; the hash of its template is in its annotation and in that of its pods.

    With a key, containers of the images hold them; without one, image volumes do.
    """
    template = _template(_pod(urls, settings, hold_image, key))
    template_hash = hash_of(template)
    annotations = {TEMPLATE_ANNOTATION: template_hash}
    template["metadata"]["annotations"] |= annotations
    return {
        "apiVersion": DAEMON_SETS.api_version,
        "kind": DAEMON_SETS.kind,
        "metadata": {
            "name": NAME,
            "namespace": namespace,
            "labels": {**HOLDER_LABELS, OWNER_LABEL: OWNER},
            "annotations": annotations,
            "ownerReferences": [_owner(one) for one in owners],
        },
        "spec": {
            "selector": {"matchLabels": dict(HOLDER_LABELS)},
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


def _template(pod: Document) -> Document:
    return {
        "metadata": {
            "labels": dict(HOLDER_LABELS),
            "annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"},
        },
        "spec": pod,
    }


def _pod(
    urls: Sequence[str], settings: PrePullSettings, hold_image: str, key: HoldKey | None
) -> Document:
    spec: Document = {
        "schedulingGates": [{"name": SCHEDULING_GATE}],
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 5,
        "nodeSelector": settings.node_labels,
        "securityContext": _pod_security(settings.user_id),
    }
    if settings.priority_class:
        spec["priorityClassName"] = settings.priority_class
    if settings.tolerations:
        spec["tolerations"] = [_toleration(one) for one in settings.tolerations]
    if settings.affinity:
        spec["affinity"] = dict(settings.affinity)
    if settings.pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in settings.pull_secrets]
    if key is None:
        return spec | _image_volumes(urls, settings, hold_image)
    folder = _folder(key, spec, urls, hold_image)
    return spec | _containers_of_images(urls, settings, hold_image, folder)


def _folder(key: HoldKey, pod: Document, urls: Sequence[str], hold_image: str) -> str:
    """The same for each template of an installation."""
    text = json.dumps([pod, list(urls), hold_image], sort_keys=True)
    digest = hmac.new(key.value, text.encode(), hashlib.sha256).hexdigest()
    return HOLD_FOLDER_PREFIX + digest[:_FOLDER_CHARACTERS]


def _image_volumes(urls: Sequence[str], settings: PrePullSettings, hold_image: str) -> Document:
    """A container reports the fault of the volume that it mounts, so each image has its own."""
    return {
        "containers": [
            {
                "name": container_name(url),
                "image": hold_image,
                "imagePullPolicy": "IfNotPresent",
                "command": [HOLD_PROGRAM],
                "resources": dict(settings.resources),
                "securityContext": _CONTAINER_SECURITY,
                "volumeMounts": [
                    {"name": container_name(url), "mountPath": IMAGE_FOLDER, "readOnly": True}
                ],
            }
            for url in urls
        ],
        "volumes": [
            {
                "name": container_name(url),
                "image": {"reference": url, "pullPolicy": "IfNotPresent"},
            }
            for url in urls
        ],
    }


def _containers_of_images(
    urls: Sequence[str], settings: PrePullSettings, hold_image: str, folder: str
) -> Document:
    program = f"{folder}/hold"
    return {
        "initContainers": [
            {
                "name": INIT_CONTAINER,
                "image": hold_image,
                "imagePullPolicy": "IfNotPresent",
                "command": [HOLD_PROGRAM, program],
                "resources": _INIT_RESOURCES,
                "securityContext": _CONTAINER_SECURITY,
                "volumeMounts": [{"name": _VOLUME, "mountPath": folder}],
            }
        ],
        "containers": [
            {
                "name": container_name(url),
                "image": url,
                "imagePullPolicy": "IfNotPresent",
                "command": [program],
                # An image may name a folder that its user cannot enter.
                "workingDir": "/",
                "resources": dict(settings.resources),
                "securityContext": _CONTAINER_SECURITY,
                "volumeMounts": [{"name": _VOLUME, "mountPath": folder, "readOnly": True}],
            }
            for url in urls
        ],
        "volumes": [{"name": _VOLUME, "emptyDir": {"sizeLimit": "8Mi"}}],
    }


def _pod_security(user_id: int | None) -> Document:
    security: Document = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    if user_id is not None:
        security |= {"runAsUser": user_id, "runAsGroup": user_id}
    return security


def _toleration(one: Toleration) -> Document:
    fields = {
        "key": one.key,
        "operator": "Equal" if one.value else "Exists",
        "value": one.value,
        "effect": one.effect,
    }
    return {name: value for name, value in fields.items() if value}
