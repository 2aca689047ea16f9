"""Carries out the actions of a plan. Every write is ours to repeat and guarded where it matters."""

from typing import Any, assert_never

import msgspec

from lading.api.cluster_api import MachineTemplate
from lading.api.core import CONFIG_MAPS, SECRETS
from lading.api.definitions import OWNER, OWNER_LABEL
from lading.api.machine import MACHINE_SETS, MachineSet
from lading.api.machineconfiguration.boot_image_history import MACHINE_SET_BOOT_IMAGE_HISTORIES
from lading.api.operator import MACHINE_CONFIGURATIONS
from lading.boot_images import stubs
from lading.boot_images.types import (
    FIELD_MANAGER,
    PROOF_ANNOTATION,
    Action,
    CloneTemplate,
    DeleteHistory,
    PatchMachineSet,
    ReportConfiguration,
    ReportMachineSet,
    SaveHistory,
    StampGolden,
    WriteStub,
)
from lading.kernel.objects import Object, Resource
from lading.ports import kube
from lading.ports.kube import Kube, PatchType


async def apply(
    action: Action,
    api: Kube,
    machine_sets: Resource[MachineSet] = MACHINE_SETS,
    *,
    resource_version: str = "",
    field_manager: str = FIELD_MANAGER,
) -> Object | None:
    """The object as it is now. `resource_version` is that of the history to save."""
    match action:
        case StampGolden(key=key):
            metadata = {
                "resourceVersion": action.resource_version,
                "annotations": {PROOF_ANNOTATION: action.proof},
            }
            return await api.patch(
                CONFIG_MAPS,
                key.name,
                {"metadata": metadata},
                namespace=key.namespace,
                field_manager=FIELD_MANAGER,
            )
        case WriteStub():
            await _write_stub(action, api)
            return None
        case SaveHistory():
            return await _save(action, api, resource_version)
        case ReportMachineSet(key=key, status=status):
            body = _body(MACHINE_SET_BOOT_IMAGE_HISTORIES, key.name, key.namespace)
            body["status"] = msgspec.to_builtins(status)
            return await _applied(api, MACHINE_SET_BOOT_IMAGE_HISTORIES, body, "status")
        case CloneTemplate():
            await _clone(action, api)
            return None
        case PatchMachineSet(key=key):
            return await api.patch(
                machine_sets,
                key.name,
                list(action.operations),
                namespace=key.namespace,
                patch_type=PatchType.JSON,
                field_manager=field_manager,
            )
        case DeleteHistory(key=key, uid=uid):
            await api.delete(
                MACHINE_SET_BOOT_IMAGE_HISTORIES, key.name, namespace=key.namespace, uid=uid
            )
            return None
        case ReportConfiguration(name=name, status=status):
            body = {**_body(MACHINE_CONFIGURATIONS, name), "status": dict(status)}
            return await _applied(api, MACHINE_CONFIGURATIONS, body, "status")
        case _:
            assert_never(action)


async def _save(action: SaveHistory, api: Kube, resource_version: str) -> Object:
    """What `lading bootimage resume` wrote stays: that field is not ours to apply."""
    spec = msgspec.to_builtins(action.spec)
    spec.pop("resumedAfterIndex", None)
    body = _body(MACHINE_SET_BOOT_IMAGE_HISTORIES, action.key.name, action.key.namespace)
    body["spec"] = spec
    if resource_version:
        body["metadata"]["resourceVersion"] = resource_version
    return await _applied(api, MACHINE_SET_BOOT_IMAGE_HISTORIES, body, "")


async def _write_stub(action: WriteStub, api: Kube) -> None:
    """An error of the API server may quote what it refuses, so it is not passed on."""
    try:
        if action.resource_version:
            operations: list[dict[str, Any]] = [
                {
                    "op": "replace",
                    "path": "/metadata/resourceVersion",
                    "value": action.resource_version,
                },
                {"op": "add", "path": "/data", "value": dict(action.data)},
            ]
            await api.patch(
                SECRETS,
                action.key.name,
                operations,
                namespace=action.key.namespace,
                patch_type=PatchType.JSON,
                field_manager=FIELD_MANAGER,
            )
        else:
            await api.create(SECRETS, _secret(action), namespace=action.key.namespace)
    except kube.AlreadyExists:
        raise kube.Conflict(f"Secret {action.key} exists already") from None
    except kube.Invalid as error:
        raise kube.Invalid(f"Secret {action.key} was refused", code=error.code) from None


def _secret(action: WriteStub) -> dict[str, Any]:
    return {
        "apiVersion": SECRETS.api_version,
        "kind": SECRETS.kind,
        "metadata": {
            "name": action.key.name,
            "namespace": action.key.namespace,
            "labels": {OWNER_LABEL: OWNER},
            "annotations": {stubs.SOURCE_ANNOTATION: action.source.name},
        },
        "type": action.type,
        "data": dict(action.data),
    }


async def _clone(action: CloneTemplate, api: Kube) -> None:
    """The name follows from the content, so a template that is there already is the same."""
    group, _, version = action.body["apiVersion"].partition("/")
    kind = action.body["kind"]
    resource = Resource(
        group=group,
        version=version,
        kind=kind,
        plural=f"{kind.lower()}s",
        namespaced=True,
        type=MachineTemplate,
    )
    try:
        await api.create(resource, action.body, namespace=action.body["metadata"]["namespace"])
    except kube.AlreadyExists:
        return


def _body(resource: Resource[Any], name: str, namespace: str = "") -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}


async def _applied(
    api: Kube, resource: Resource[Any], body: dict[str, Any], subresource: str
) -> Object:
    found: Object = await api.apply(
        resource, body, field_manager=FIELD_MANAGER, force=True, subresource=subresource
    )
    return found
