"""Carries out the actions of the workload controllers."""

from contextlib import suppress
from typing import Any

from lading.kernel.objects import Key, Object, Resource
from lading.loop import event_series, pipeline
from lading.loop.event_series import Severity
from lading.loop.read_your_writes import ReadYourWrites
from lading.loop.recorder import EventRecorder
from lading.ports import kube
from lading.ports.kube import Kube
from lading.standalone.workloads.actions import (
    Create,
    Delete,
    RecordWorkloadEvent,
    RemoveFinalizer,
    WriteWorkloadStatus,
)


class Applier:
    """Remembers what it wrote for the caches that it is given."""

    def __init__(
        self,
        *,
        kube: Kube,
        recorder: EventRecorder,
        caches: dict[Resource[Any], ReadYourWrites[Any]],
    ) -> None:
        self._kube = kube
        self._recorder = recorder
        self._caches = caches

    async def apply(self, action: Any) -> None:
        match action:
            case Create():
                await self._create(action)
            case Delete(resource=resource, key=key):
                with suppress(kube.NotFound), pipeline.precondition(f"{resource.kind} {key}"):
                    await self._kube.delete(
                        resource,
                        key.name,
                        namespace=key.namespace,
                        uid=action.uid,
                        propagation=action.propagation,
                    )
            case RemoveFinalizer():
                await self._patch(
                    action.resource,
                    action.key,
                    {
                        "metadata": {
                            "resourceVersion": action.resource_version,
                            "finalizers": list(action.finalizers) or None,
                        }
                    },
                )
            case WriteWorkloadStatus():
                body = {
                    "metadata": {"resourceVersion": action.resource_version},
                    "status": action.status,
                }
                await self._patch(action.resource, action.key, body, subresource="status")
            case RecordWorkloadEvent():
                self._record(action)
            case _:
                raise AssertionError(f"no action: {action!r}")

    async def _create(self, action: Create) -> None:
        try:
            made = await self._kube.create(
                action.resource, action.body, namespace=action.key.namespace
            )
        except kube.AlreadyExists:
            return  # made before, and the cache does not show it yet; or an old one still leaves
        self._remember(action.resource, made)

    async def _patch(
        self, resource: Resource[Any], key: Key, body: Any, *, subresource: str = ""
    ) -> None:
        with pipeline.precondition(f"{resource.kind} {key}"):
            written = await self._kube.patch(
                resource, key.name, body, namespace=key.namespace, subresource=subresource
            )
        self._remember(resource, written)

    def _remember(self, resource: Resource[Any], written: Object) -> None:
        cache = self._caches.get(resource)
        if cache is not None:
            cache.add(written)

    def _record(self, action: RecordWorkloadEvent) -> None:
        self._recorder.record(
            event_series.reference(action.resource, action.about),
            reason=action.reason,
            action=action.reason,
            note=action.because,
            severity=Severity.WARNING if action.warning else Severity.NORMAL,
        )
