"""Carries out the plans. Every write is ours to repeat, and guarded by uid or revision."""

from typing import Any, assert_never

import msgspec

from lading.api.batch import CRON_JOBS
from lading.api.core import CONFIG_MAPS
from lading.api.definitions import OWNER, OWNER_LABEL
from lading.api.imageregistry import IMAGE_PRUNERS, NAME, SCHEDULE_DEFAULT
from lading.api.rbac_objects import CLUSTER_ROLE_BINDINGS, SERVICE_ACCOUNTS
from lading.kernel.objects import Object, Resource
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
    RecordDecision,
    RepairMetadata,
    ReplaceCronJob,
    ReplaceSubjects,
    WritePrunerStatus,
)

_RESOURCES: dict[str, Resource[Any]] = {
    one.kind: one for one in (SERVICE_ACCOUNTS, CLUSTER_ROLE_BINDINGS, CRON_JOBS, CONFIG_MAPS)
}


async def apply(
    action: CreateImagePruner
    | RecordDecision
    | CreateObject
    | RepairMetadata
    | ReplaceSubjects
    | DeleteBinding
    | ReplaceCronJob
    | WritePrunerStatus,
    api: Kube,
) -> Object | None:
    """The object as it is now; None when it is deleted, or another process made it first."""
    match action:
        case CreateImagePruner():
            return await _create(api, IMAGE_PRUNERS, _first(action))
        case RecordDecision(namespace=namespace):
            return await _create(api, CONFIG_MAPS, _decision(action), namespace)
        case CreateObject(body=body):
            namespace = body["metadata"].get("namespace", "")
            return await _create(api, _RESOURCES[body["kind"]], dict(body), namespace)
        case RepairMetadata(body=body, found=found):
            return await _patch(api, body, found, {})
        case ReplaceSubjects(body=body, found=found):
            return await _patch(api, body, found, {"/subjects": body["subjects"]})
        case ReplaceCronJob(body=body, found=found):
            return await _patch(api, body, found, {"/spec": body["spec"]})
        case DeleteBinding(name=name, uid=uid):
            try:
                await api.delete(CLUSTER_ROLE_BINDINGS, name, uid=uid)
            except kube.NotFound:
                return None
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
) -> Object | None:
    try:
        created: Object = await api.create(
            resource, body, namespace=namespace, field_manager=FIELD_MANAGER
        )
    except kube.AlreadyExists:
        return None  # what is there stands; the cache shows it soon
    return created


async def _patch(api: Kube, body: Any, found: Object, changed: dict[str, Any]) -> Object:
    """Labels and annotations of others stay; the rest is as the body has it."""
    wanted = body["metadata"]
    annotations = {**found.metadata.annotations, **wanted.get("annotations", {})}
    whole = {
        "/metadata/resourceVersion": found.metadata.resource_version,
        "/metadata/labels": {**found.metadata.labels, **wanted["labels"]},
        **({"/metadata/annotations": annotations} if annotations else {}),
        "/metadata/ownerReferences": wanted["ownerReferences"],
        **changed,
    }
    operations = [{"op": "add", "path": path, "value": value} for path, value in whole.items()]
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
