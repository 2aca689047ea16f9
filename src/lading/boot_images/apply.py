"""Carries out the actions of a plan, and remembers which writes failed.

A write can be repeated, and applies only to the observed version where that matters.
"""

from collections.abc import Hashable
from datetime import timedelta
from typing import Any, assert_never

import msgspec

from lading.api.cluster_api import MachineTemplate, machine_templates
from lading.api.core import CONFIG_MAPS, SECRETS
from lading.api.definitions import OWNER, OWNER_LABEL
from lading.api.machine import MACHINE_SETS, MachineSet
from lading.api.machineconfiguration.boot_image_history import MACHINE_SET_BOOT_IMAGE_HISTORIES
from lading.api.operator import MACHINE_CONFIGURATIONS
from lading.boot_images import stubs, templates
from lading.boot_images.types import (
    FIELD_MANAGER,
    PROOF_ANNOTATION,
    Action,
    CloneTemplate,
    DeleteHistory,
    DeleteTemplate,
    FailedWrite,
    MarkTemplate,
    PatchMachineSet,
    ReportConfiguration,
    ReportMachineSet,
    SaveHistory,
    StampGolden,
    TemplateVersion,
    WriteStub,
)
from lading.kernel.backoff import Backoff
from lading.kernel.objects import Object, Resource
from lading.kernel.values import replace
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.kube import Kube, PatchType


class WriteLedger:
    """The writes that failed last, by lane. `observe` reads it like any other fact.

    A failure is renewed with each retry, so an older one is of something that is not wanted now.
    """

    def __init__(self, clock: Clock, retry: Backoff) -> None:
        self._clock = clock
        self._kept = timedelta(seconds=2 * retry.seconds_max)
        self._failures: dict[Hashable, FailedWrite] = {}
        self.unapplied: set[Hashable] = set()
        """Lanes with a patch that was not applied; also if only its precondition failed."""

    def failures(self) -> dict[Hashable, FailedWrite]:
        since = self._clock.now() - self._kept
        self._failures = {
            lane: one for lane, one in self._failures.items() if one.failed_at > since
        }
        return dict(self._failures)

    def failed(self, lane: Hashable, error: kube.KubeError) -> None:
        before = self._failures.get(lane)
        self._failures[lane] = FailedWrite(
            message=str(error),
            refused=not isinstance(error, kube.Transient),
            attempts=(before.attempts if before else 0) + 1,
            failed_at=self._clock.now(),
        )

    def succeeded(self, action: Action) -> None:
        """The history and the status are in the lane of the patch, and do not end its failure."""
        if isinstance(action, WriteStub | PatchMachineSet):
            self._failures.pop(action.lane, None)
            self.unapplied.discard(action.lane)


async def apply(
    action: Action,
    api: Kube,
    machine_sets: Resource[MachineSet] = MACHINE_SETS,
    *,
    resource_version: str = "",
    field_manager: str = FIELD_MANAGER,
) -> Object | None:
    """The written object. `resource_version` is that of the history to save."""
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
        case CloneTemplate() | MarkTemplate() | DeleteTemplate():
            await _write_template(action, api)
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
    """`resumedTime` belongs to `lading bootimage resume`, so it is not applied."""
    spec = msgspec.to_builtins(action.spec)
    spec.pop("resumedTime", None)
    body = _body(MACHINE_SET_BOOT_IMAGE_HISTORIES, action.key.name, action.key.namespace)
    body["spec"] = spec
    if resource_version:
        body["metadata"]["resourceVersion"] = resource_version
    return await _applied(api, MACHINE_SET_BOOT_IMAGE_HISTORIES, body, "")


async def _write_stub(action: WriteStub, api: Kube) -> None:
    """An error of the API server may quote the Secret, so its text is not passed on."""
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


async def _write_template(action: CloneTemplate | MarkTemplate | DeleteTemplate, api: Kube) -> None:
    match action:
        case CloneTemplate():
            await _clone(action, api)
        case MarkTemplate(template=template, unused_since=since):
            await _mark(template, since, api)
        case DeleteTemplate(template=template):
            await api.delete(
                _resource_of(template.api_version, template.kind),
                template.key.name,
                namespace=template.key.namespace,
                uid=template.uid,
                resource_version=template.resource_version,
            )


async def _clone(action: CloneTemplate, api: Kube) -> None:
    body = action.body
    resource = _resource_of(body["apiVersion"], body["kind"])
    try:
        await api.create(resource, body, namespace=body["metadata"]["namespace"])
    except kube.AlreadyExists:
        await _use_again(action, api, resource)


async def _use_again(action: CloneTemplate, api: Kube, resource: Resource[MachineTemplate]) -> None:
    """The name has a hash of the content, so the existing template should be the same."""
    metadata = action.body["metadata"]
    present = await api.get(resource, metadata["name"], namespace=metadata["namespace"])
    if present.metadata.deletion_timestamp:
        raise kube.Conflict(f"{resource.kind} {present.key} is being deleted")
    if not templates.holds(present.spec, action.body["spec"]):
        raise kube.Invalid(f"{resource.kind} {present.key} exists with another content")
    if templates.UNUSED_ANNOTATION in present.metadata.annotations:
        known = replace(present, api_version=resource.api_version, kind=resource.kind)
        await _mark(TemplateVersion.of(known), "", api)


async def _mark(template: TemplateVersion, since: str, api: Kube) -> None:
    metadata = {
        "resourceVersion": template.resource_version,
        "annotations": {templates.UNUSED_ANNOTATION: since or None},
    }
    await api.patch(
        _resource_of(template.api_version, template.kind),
        template.key.name,
        {"metadata": metadata},
        namespace=template.key.namespace,
        field_manager=FIELD_MANAGER,
    )


def _resource_of(api_version: str, kind: str) -> Resource[MachineTemplate]:
    return machine_templates(kind, api_version.partition("/")[2])


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
