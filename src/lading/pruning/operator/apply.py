"""Writes to the API server. A uid or a resourceVersion guards each change of an object."""

from contextlib import suppress
from typing import Any, assert_never

import msgspec

from lading.api.core import CONFIG_MAPS, CRON_JOBS
from lading.api.definitions import OWNER, OWNER_LABEL
from lading.api.imageregistry import IMAGE_PRUNERS, NAME, SCHEDULE_DEFAULT
from lading.api.rbac import CLUSTER_ROLE_BINDINGS, SERVICE_ACCOUNTS
from lading.kernel.objects import Object, Resource
from lading.loop.pipeline import PreconditionFailed
from lading.ports import kube
from lading.ports.kube import Kube, PatchType
from lading.pruning.operator.decision import DECISION_ANNOTATION
from lading.pruning.operator.observe import DECISION_KEY
from lading.pruning.operator.types import (
    DECISION_NAME,
    FIELD_MANAGER,
    CreateImagePruner,
    CreateObject,
    DecisionReason,
    DeleteBinding,
    ObjectWrite,
    RecordDecision,
    UpdateObject,
    WritePrunerStatus,
)

_RESOURCES: dict[str, Resource[Any]] = {
    one.kind: one for one in (SERVICE_ACCOUNTS, CLUSTER_ROLE_BINDINGS, CRON_JOBS, CONFIG_MAPS)
}


async def apply(
    action: CreateImagePruner | RecordDecision | ObjectWrite | WritePrunerStatus, api: Kube
) -> Object | None:
    """The written object; None if it was deleted."""
    match action:
        case CreateImagePruner():
            return await _create(api, IMAGE_PRUNERS, _first(action))
        case RecordDecision(namespace=namespace):
            return await _create(api, CONFIG_MAPS, _decision(action), namespace)
        case CreateObject(body=body):
            namespace = body["metadata"].get("namespace", "")
            return await _create(api, _RESOURCES[body["kind"]], dict(body), namespace)
        case UpdateObject():
            return await _update(api, action)
        case DeleteBinding(name=name, uid=uid):
            with suppress(kube.NotFound):
                await api.delete(CLUSTER_ROLE_BINDINGS, name, uid=uid)
            return None
        case WritePrunerStatus(key=key, resource_version=revision, status=status):
            body = {
                "apiVersion": IMAGE_PRUNERS.api_version,
                "kind": IMAGE_PRUNERS.kind,
                "metadata": {"name": key.name, "resourceVersion": revision},
                "status": msgspec.to_builtins(status),
            }
            return await api.apply(
                IMAGE_PRUNERS, body, field_manager=FIELD_MANAGER, force=True, subresource="status"
            )
        case _:
            assert_never(action)


async def _create(
    api: Kube, resource: Resource[Any], body: dict[str, Any], namespace: str = ""
) -> Object:
    try:
        created: Object = await api.create(
            resource, body, namespace=namespace, field_manager=FIELD_MANAGER
        )
    except kube.AlreadyExists as error:
        raise PreconditionFailed(str(error)) from error
    return created


async def _update(api: Kube, action: UpdateObject) -> Object:
    """Labels and annotations of other writers stay."""
    body, found = action.body, action.found.metadata
    wanted = body["metadata"]
    annotations = {**found.annotations, **wanted.get("annotations", {})}
    changed = {
        "/metadata/resourceVersion": found.resource_version,
        "/metadata/labels": {**found.labels, **wanted["labels"]},
        **({"/metadata/annotations": annotations} if annotations else {}),
        "/metadata/ownerReferences": wanted["ownerReferences"],
        **{f"/{field}": body[field] for field in action.fields},
    }
    operations = [{"op": "add", "path": path, "value": value} for path, value in changed.items()]
    patched: Object = await api.patch(
        _RESOURCES[body["kind"]],
        wanted["name"],
        operations,
        namespace=wanted.get("namespace", ""),
        patch_type=PatchType.JSON,
        field_manager=FIELD_MANAGER,
    )
    return patched


def _first(action: CreateImagePruner) -> dict[str, Any]:
    decision = DecisionReason.UPGRADED if action.suspend else DecisionReason.NEW_CLUSTER
    return {
        "apiVersion": IMAGE_PRUNERS.api_version,
        "kind": IMAGE_PRUNERS.kind,
        "metadata": {
            "name": NAME,
            "labels": {OWNER_LABEL: OWNER},
            "annotations": {DECISION_ANNOTATION: decision},
        },
        "spec": {"schedule": SCHEDULE_DEFAULT, "suspend": action.suspend},
    }


def _decision(action: RecordDecision) -> dict[str, Any]:
    return {
        "apiVersion": CONFIG_MAPS.api_version,
        "kind": CONFIG_MAPS.kind,
        "metadata": {
            "name": DECISION_NAME,
            "namespace": action.namespace,
            "labels": {OWNER_LABEL: OWNER},
        },
        "data": {DECISION_KEY: action.decision, "because": action.because},
    }
