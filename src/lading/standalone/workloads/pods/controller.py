"""The pods of one node: watches them, pulls their images, runs what can be run, writes status."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from lading.kernel.objects import Key
from lading.kernel.planning import Plan
from lading.loop import event_series, pipeline
from lading.loop.controller import Controller
from lading.loop.event_series import Severity
from lading.loop.feature import Runnable
from lading.ports import cri, kube
from lading.ports.cri import Cri, ImageSpec
from lading.ports.kube import PatchType
from lading.standalone.workloads.event_reasons import KubernetesEvent
from lading.standalone.workloads.kinds import PODS, Pod
from lading.standalone.workloads.pods import folders, inputs, plan, roles, values
from lading.standalone.workloads.pods.inputs import Values
from lading.standalone.workloads.pods.node_images import NodeImagesReconciler
from lading.standalone.workloads.pods.processes import Processes
from lading.standalone.workloads.pods.pulls import PodCredentials, Pulls
from lading.standalone.workloads.pods.types import (
    POD_PERIODS,
    DeclareContainers,
    FinishDeletion,
    ObservedPod,
    PodPeriods,
    RequestPull,
    StartProcess,
    StopPod,
    WritePodStatus,
)
from lading.standalone.workloads.reconciler import WorkloadContext, WorkloadReconciler


class PodNode(msgspec.Struct, frozen=True, kw_only=True):
    """What the pod loop of one node works with."""

    name: str
    runtime: Cri
    credentials: PodCredentials
    declare: Callable[[Iterable[cri.Container]], None]
    """Says to the runtime which containers there are on the node."""
    own_images: frozenset[str]
    environment: dict[str, str]
    """What every process gets."""
    folder: Path
    """For the volumes of pods."""
    periods: PodPeriods = POD_PERIODS


class Declarations:
    """The containers of all pods of a node, as its runtime must know them."""

    def __init__(self, declare: Callable[[Iterable[cri.Container]], None]) -> None:
        self._declare = declare
        self._by_uid: dict[str, tuple[cri.Container, ...]] = {}

    def get(self, uid: str) -> tuple[cri.Container, ...]:
        return self._by_uid.get(uid, ())

    def set(self, uid: str, containers: tuple[cri.Container, ...]) -> None:
        self._by_uid[uid] = containers
        if not containers:
            del self._by_uid[uid]
        self._declare(one for every in self._by_uid.values() for one in every)


class PodReconciler(WorkloadReconciler[ObservedPod]):
    name = "pods"

    def __init__(self, context: WorkloadContext, node: PodNode, declarations: Declarations) -> None:
        super().__init__(context, PODS)
        self._node = node
        self._declarations = declarations
        self._wake: Callable[[Key], None] = lambda key: None
        self._keys: dict[str, Key] = {}
        """Of the pods that have work here, by UID."""
        self.pulls = Pulls(
            runtime=node.runtime,
            credentials=node.credentials,
            clock=context.clock,
            retry=node.periods.pull_retry,
            report=self._report,
            changed=lambda key: self._wake(key),
        )
        self.processes = Processes(
            clock=context.clock,
            environment=node.environment,
            changed=lambda key: self._wake(key),
        )

    def woken_by(self, wake: Callable[[Key], None]) -> None:
        self._wake = wake

    async def observe(self, key: Key) -> ObservedPod:
        found = self.get(PODS, key)
        pod = found if found is not None and found.spec.node_name == self._node.name else None
        uid = pod.metadata.uid if pod else ""
        if pod is not None:
            self._keys[uid] = key
        present = await images_of(self._node.runtime, pod) if pod else {}
        return ObservedPod(
            pod=pod,
            present=present,
            own_images=self._node.own_images,
            pulls=self.pulls.records(uid),
            processes=self.processes.records(uid),
            values=await self._values(pod, present) if pod else {},
            folder=str(self._node.folder / uid),
            declared=self._declarations.get(uid),
            strays=tuple(one for one, of in self._keys.items() if of == key and one != uid),
            periods=self._node.periods,
        )

    async def _values(self, pod: Pod, present: Mapping[str, cri.Image]) -> Values:
        """Read only for containers that may start now."""
        if pod.is_finished or pod.metadata.deletion_timestamp:
            return {}
        processes = self.processes.records(pod.metadata.uid)
        running = {name for name, one in processes.items() if one.exit_code is None}
        wanted = {
            source
            for one in (*pod.spec.init_containers, *pod.spec.containers)
            if one.name not in running and one.image in present
            if present[one.image].id in self._node.own_images
            for source in inputs.sources(pod, one)
        }
        return await values.read(self._context.kube, pod.metadata.namespace, wanted)

    def plan(self, observed: ObservedPod, now: datetime) -> Plan:
        return plan.plan(observed, now)

    async def apply(self, action: Any) -> None:
        match action:
            case RequestPull():
                self.pulls.request(action.pod, action.image)
            case StartProcess():
                self.processes.start(action)
            case StopPod():
                self._stop(action.uid)
            case DeclareContainers():
                self._declarations.set(action.uid, action.containers)
            case WritePodStatus():
                await self._write(action)
            case FinishDeletion():
                with suppress(kube.NotFound, kube.Conflict):
                    await self._context.kube.delete(
                        PODS,
                        action.key.name,
                        namespace=action.key.namespace,
                        uid=action.uid,
                        grace_seconds=0,
                    )
            case _:
                await super().apply(action)

    async def _write(self, action: WritePodStatus) -> None:
        with pipeline.precondition(f"Pod {action.key}"):
            written = await self._context.kube.patch(
                PODS,
                action.key.name,
                {"metadata": {"uid": action.uid}, "status": action.status},
                namespace=action.key.namespace,
                patch_type=PatchType.STRATEGIC,
                subresource="status",
            )
        self._caches[PODS].add(written)

    def _stop(self, uid: str) -> None:
        """What has ended is forgotten when the pod is no longer ours."""
        self.processes.stop(uid)
        self.pulls.forget(uid)
        key = self._keys.get(uid)
        found = self.get(PODS, key) if key else None
        if found is None or found.metadata.uid != uid:
            self.processes.forget(uid)
            self._declarations.set(uid, ())
            if not self.processes.records(uid):
                folders.remove(self._node.folder, uid)
            if not self.processes.records(uid):
                self._keys.pop(uid, None)

    def _report(self, pod: Pod, reason: KubernetesEvent, note: str, is_warning: bool) -> None:
        self._context.recorder.record(
            event_series.reference(PODS, pod),
            reason=reason,
            action=reason,
            note=note,
            severity=Severity.WARNING if is_warning else Severity.NORMAL,
        )


async def images_of(runtime: Cri, pod: Pod) -> dict[str, cri.Image]:
    """The images of its containers, and of their volumes, that the node has."""
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    names = {one.image for one in containers}
    names.update(url for one in containers for url in roles.image_volumes(pod, one))
    found = {name: await runtime.image(ImageSpec(image=name)) for name in sorted(names)}
    return {name: image for name, image in found.items() if image is not None}


def open_pods(
    context: WorkloadContext, node: PodNode, declarations: Declarations
) -> tuple[tuple[Controller, ...], tuple[Runnable, ...]]:
    """The controllers of the node, and what runs beside them."""
    reconciler = PodReconciler(context, node, declarations)
    controller = reconciler.controller()
    interval = node.periods.image_list_interval
    images = NodeImagesReconciler(context, node.runtime, interval).controller()
    own_key = Key("", node.name)
    images.wake(own_key)

    def wake(key: Key) -> None:
        """A pull or a process ended; what was pulled is listed soon."""
        controller.wake(key)
        images.wake(own_key, debounce_seconds=node.periods.image_list_debounce_seconds)

    reconciler.woken_by(wake)

    def of_pod(old: Pod | None, new: Pod | None) -> Iterable[Key]:
        both = (one for one in (old, new) if one is not None)
        return {one.key for one in both if one.spec.node_name == node.name}

    controller.watch(context.informers.of(PODS), of_pod)
    return (controller, images), (reconciler.pulls, reconciler.processes)
