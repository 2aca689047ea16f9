"""Writes to the API server. A uid or a resourceVersion guards each change of an object."""

import base64
import secrets
from contextlib import suppress
from typing import Any, assert_never

import msgspec

from lading.api.core import DAEMON_SETS, PODS, SECRETS
from lading.api.definitions import OWNER, OWNER_LABEL
from lading.api.longhorn import IMAGES, SETTING, SETTING_NAME, SETTINGS, ImageStatus
from lading.kernel.objects import Key, Object, Resource
from lading.loop.pipeline import PreconditionFailed
from lading.ports import kube
from lading.ports.kube import Kube, PatchType
from lading.prepull import holder
from lading.prepull.actions import (
    Action,
    CreateDaemonSet,
    CreateImage,
    CreateSetting,
    DeleteDaemonSet,
    DeleteImage,
    DeletePod,
    EnsureHoldKey,
    RemoveGate,
    ReplaceDaemonSet,
    WatchImageLists,
    WriteImageStatus,
)
from lading.prepull.types import FIELD_MANAGER, HOLD_KEY_NAME, LIST_LABEL


async def apply(action: Action | WriteImageStatus, api: Kube) -> Object | None:
    """The written object; None if it was deleted."""
    match action:
        case CreateImage():
            return await _create(api, IMAGES, _image(action), action.namespace)
        case CreateSetting(namespace=namespace, value=value):
            body = {**_body(SETTINGS, SETTING_NAME, namespace), "value": value}
            try:
                return await _create(api, SETTINGS, body, namespace)
            except kube.NotFound as error:
                raise kube.Invalid(f"{SETTING.name} is not installed", code=404) from error
        case EnsureHoldKey(namespace=namespace):
            try:
                return await api.get(SECRETS, HOLD_KEY_NAME, namespace=namespace)
            except kube.NotFound:
                return await _create(api, SECRETS, _drawn_key(namespace), namespace)
        case CreateDaemonSet(body=body):
            return await _create(api, DAEMON_SETS, dict(body), body["metadata"]["namespace"])
        case ReplaceDaemonSet():
            return await _replace(action, api)
        case DeleteImage(key=key, uid=uid):
            await _delete(api, IMAGES, key, uid)
        case DeleteDaemonSet(key=key, uid=uid):
            await _delete(api, DAEMON_SETS, key, uid)
        case DeletePod(key=key, uid=uid):
            await _delete(api, PODS, key, uid)
        case RemoveGate():
            return await _remove_gate(action, api)
        case WriteImageStatus(key=key, resource_version=revision, status=status):
            body = _body(IMAGES, key.name, key.namespace)
            body["metadata"]["resourceVersion"] = revision
            body["status"] = with_zero_counts(status)
            return await api.apply(
                IMAGES, body, field_manager=FIELD_MANAGER, force=True, subresource="status"
            )
        case WatchImageLists():
            raise AssertionError("it writes nothing to the API server")
        case _:
            assert_never(action)
    return None


async def _create(
    api: Kube, resource: Resource[Any], body: dict[str, Any], namespace: str
) -> Object:
    try:
        created: Object = await api.create(
            resource, body, namespace=namespace, field_manager=FIELD_MANAGER
        )
    except kube.AlreadyExists as error:
        raise PreconditionFailed(str(error)) from error
    return created


async def _delete(api: Kube, resource: Resource[Any], key: Key, uid: str) -> None:
    with suppress(kube.NotFound):
        await api.delete(resource, key.name, namespace=key.namespace, uid=uid)


async def _replace(action: ReplaceDaemonSet, api: Kube) -> Object:
    """Replaces the whole template, so that no addition by hand stays."""
    body, found = action.body, action.found.metadata
    wanted = body["metadata"]
    changed = {
        "/metadata/resourceVersion": found.resource_version,
        "/metadata/labels": {**found.labels, **wanted["labels"]},
        "/metadata/annotations": {**found.annotations, **wanted["annotations"]},
        "/metadata/ownerReferences": wanted["ownerReferences"],
        "/spec/minReadySeconds": body["spec"]["minReadySeconds"],
        "/spec/revisionHistoryLimit": body["spec"]["revisionHistoryLimit"],
        "/spec/updateStrategy": body["spec"]["updateStrategy"],
        "/spec/template": body["spec"]["template"],
    }
    operations = [{"op": "add", "path": path, "value": value} for path, value in changed.items()]
    return await api.patch(
        DAEMON_SETS,
        holder.NAME,
        operations,
        namespace=wanted["namespace"],
        patch_type=PatchType.JSON,
        field_manager=FIELD_MANAGER,
    )


async def _remove_gate(action: RemoveGate, api: Kube) -> Object:
    """The uid and the name of the gate are checked by the API server."""
    operations = [
        {"op": "test", "path": "/metadata/uid", "value": action.uid},
        {"op": "test", "path": "/spec/schedulingGates/0/name", "value": holder.SCHEDULING_GATE},
        {"op": "remove", "path": "/spec/schedulingGates/0"},
    ]
    return await api.patch(
        PODS,
        action.key.name,
        operations,
        namespace=action.key.namespace,
        patch_type=PatchType.JSON,
        field_manager=FIELD_MANAGER,
    )


def _drawn_key(namespace: str) -> dict[str, Any]:
    body = _body(SECRETS, HOLD_KEY_NAME, namespace)
    body["metadata"]["labels"] = {OWNER_LABEL: OWNER}
    value = base64.b64encode(secrets.token_bytes(holder.KEY_BYTES)).decode()
    return {**body, "type": "Opaque", "data": {holder.KEY_FIELD: value}}


def _image(action: CreateImage) -> dict[str, Any]:
    body = _body(IMAGES, action.name, action.namespace)
    body["metadata"]["labels"] = {OWNER_LABEL: OWNER, LIST_LABEL: action.listed.name}
    return {**body, "spec": {"imageURL": action.listed.url}}


def _body(resource: Resource[Any], name: str, namespace: str) -> dict[str, Any]:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name, "namespace": namespace},
    }


def with_zero_counts(status: ImageStatus) -> dict[str, object]:
    """Without zeros, `kubectl get` shows empty cells."""
    zeros = {"nodeCount": 0, "deployedNodeCount": 0, "failedNodeCount": 0, "nodeDeploymentMap": {}}
    return {**zeros, **msgspec.to_builtins(status)}
