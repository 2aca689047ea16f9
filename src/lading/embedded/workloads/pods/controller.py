"""The pods of one node: watches them, pulls their images, runs processes, writes their status."""

import base64
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from lading.api.core import CONFIG_MAPS, SECRETS
from lading.embedded.workloads.kinds import PODS, Pod
from lading.embedded.workloads.pods import inputs, plan, processes, roles
from lading.embedded.workloads.pods.inputs import SourceKind, Values, ValueSource
from lading.embedded.workloads.pods.node_images import NodeImagesReconciler
from lading.embedded.workloads.pods.processes import Processes
from lading.embedded.workloads.pods.pulls import PodCredentials, Pulls
from lading.embedded.workloads.pods.types import (
    DeclareContainers,
    ObservedPod,
    RequestPull,
    StartProcess,
    StopPod,
)
from lading.embedded.workloads.reconciler import WorkloadContext, WorkloadReconciler
from lading.kernel.objects import Key
from lading.kernel.planning import Plan, RecordEvent
from lading.loop.controller import Controller
from lading.loop.feature import Runnable
from lading.ports import cri, kube
from lading.ports.cri import Cri, ImageSpec
from lading.ports.kube import Kube

IMAGE_LIST_DEBOUNCE_SECONDS = 1.0
"""The delay until `status.images` of the Node lists a pulled image."""


class PodNode(msgspec.Struct, frozen=True, kw_only=True):
    """The node that runs the pods."""

    name: str
    runtime: Cri
    credentials: PodCredentials
    declare: Callable[[Iterable[cri.Container]], None]
    """Tells the runtime which containers exist."""
    own_images: frozenset[str]
    environment: dict[str, str]
    """The variables of every process."""
    folder: Path
    """The folder for the volumes of pods."""


class Declarations:
    """The containers of all pods of a node, for its runtime."""

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
        """The keys of the pods that have processes or pulls here, by UID."""
        self.pulls = Pulls(
            runtime=node.runtime,
            credentials=node.credentials,
            clock=context.clock,
            record=self._record_about,
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
        )

    async def _values(self, pod: Pod, present: Mapping[str, cri.Image]) -> Values:
        """Reads the Secrets and ConfigMaps of containers that may start now."""
        if pod.is_finished or pod.metadata.deletion_timestamp:
            return {}
        records = self.processes.records(pod.metadata.uid)
        running = {name for name, one in records.items() if one.exit_code is None}
        wanted = {
            source
            for one in pod.containers
            if one.name not in running and one.image in present
            if present[one.image].id in self._node.own_images
            for source in inputs.sources(pod, one)
        }
        return await _read(self._context.kube, pod.metadata.namespace, wanted)

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
            case _:
                await super().apply(action)

    def _stop(self, uid: str) -> None:
        """Forgets a pod that is deleted, when its processes have ended."""
        self.processes.stop(uid)
        self.pulls.forget(uid)
        key = self._keys.get(uid)
        found = self.get(PODS, key) if key else None
        if found is None or found.metadata.uid != uid:
            self.processes.forget(uid)
            self._declarations.set(uid, ())
            if not self.processes.records(uid):
                processes.remove_volumes(self._node.folder, uid)
                self._keys.pop(uid, None)

    def _record_about(self, pod: Pod, event: RecordEvent) -> None:
        self._context.recorder.record_planned(PODS, pod, event, action=event.reason)


async def _read(api: Kube, namespace: str, sources: Iterable[ValueSource]) -> Values:
    """Leaves out the sources that do not exist."""
    found: dict[ValueSource, dict[str, bytes]] = {}
    for source in sorted(sources):
        try:
            found[source] = await _content(api, namespace, source)
        except kube.NotFound:
            continue
    return found


async def _content(api: Kube, namespace: str, source: ValueSource) -> dict[str, bytes]:
    match source.kind:
        case SourceKind.SECRET:
            secret = await api.get(SECRETS, source.name, namespace=namespace)
            return _decoded(secret.data)
        case SourceKind.CONFIG_MAP:
            config_map = await api.get(CONFIG_MAPS, source.name, namespace=namespace)
            texts = {key: text.encode() for key, text in config_map.data.items()}
            return {**texts, **_decoded(config_map.binary_data)}


def _decoded(data: Mapping[str, str]) -> dict[str, bytes]:
    return {key: base64.b64decode(text) for key, text in data.items()}


async def images_of(runtime: Cri, pod: Pod) -> dict[str, cri.Image]:
    """The images of its containers and of their volumes that the node has."""
    names = {one.image for one in pod.containers}
    names.update(url for one in pod.containers for url in roles.image_volumes(pod, one))
    found = {name: await runtime.image(ImageSpec(image=name)) for name in sorted(names)}
    return {name: image for name, image in found.items() if image is not None}


def open_pods(
    context: WorkloadContext, node: PodNode, declarations: Declarations
) -> tuple[tuple[Controller, ...], tuple[Runnable, ...]]:
    """The controllers of the node, and the tasks that run beside them."""
    reconciler = PodReconciler(context, node, declarations)
    controller = reconciler.controller()
    images = NodeImagesReconciler(context, node.runtime).controller()
    own_key = Key("", node.name)
    images.wake(own_key)

    def wake(key: Key) -> None:
        controller.wake(key)
        images.wake(own_key, debounce_seconds=IMAGE_LIST_DEBOUNCE_SECONDS)

    reconciler.woken_by(wake)

    def of_pod(old: Pod | None, new: Pod | None) -> Iterable[Key]:
        both = (one for one in (old, new) if one is not None)
        return {one.key for one in both if one.spec.node_name == node.name}

    controller.watch(context.informers.of(PODS), of_pod)
    return (controller, images), (reconciler.pulls, reconciler.processes)
