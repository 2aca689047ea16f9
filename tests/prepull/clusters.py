"""A cluster in memory: the API server and the controller are real, the nodes are played.

`Nodes` does what the DaemonSet controller, the scheduler and the kubelets do, as far as it shows
in pods: it makes them with their gate, runs them when it is gone, and ends the old ones.
"""

import asyncio
import contextlib
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from prometheus_client import CollectorRegistry

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.api.core import DAEMON_SETS, NAMESPACES, NODES, PODS, DaemonSet, Pod
from lading.api.longhorn import IMAGES, SETTING_NAME, SETTINGS, Image
from lading.embedded.api_server import Authorized
from lading.embedded.kube.authentication import ADMIN
from lading.embedded.kube.core import Core
from lading.embedded.kube.storage.memory import MemoryStorage
from lading.installation import apply as installation
from lading.kernel.objects import Resource
from lading.kernel.values import replace
from lading.observability.metrics import Metrics
from lading.ports import kube
from lading.ports.http import HttpTransport, Request, Response
from lading.ports.kube import Selection
from lading.prepull import holder
from lading.prepull.feature import FEATURE
from lading.prepull.types import DefaultImage, PrePullPeriods, PrePullSettings
from lading.wiring import controller
from lading.wiring.features import definitions_of
from lading.wiring.gates import parse_gates
from tests.prepull.worlds import HOLD_IMAGE, NAMESPACE, affinity_to

WAIT_SECONDS_MAX = 60.0
CLOCK = SystemClock()
QUIET = timedelta(seconds=0.3)
PERIODS = PrePullPeriods(roll_out_debounce_seconds=0.05, count_debounce_seconds=0.1)
REST_SECONDS = 1.0
"""Longer than the controller waits for anything here."""


@dataclass
class Line:
    """The controller's way to the API server: what is written is kept, and it can be cut."""

    server: HttpTransport
    written: list[tuple[str, str]] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    writes_left: int | None = None
    """After so many writes the line is dead, as after kill -9."""
    refused: str = ""
    """Creates and patches at this path are refused."""
    drops_image_volumes: bool = False
    """As an API server does with the feature gate ImageVolume off."""
    has_webhook: bool = False
    """Whether a webhook adds a label and a sidecar to every template of a DaemonSet."""

    async def __call__(self, request: Request) -> Response:
        if request.method == "GET":
            self.read.append(request.path)
        if request.method != "GET" and "/events" not in request.path:
            is_write = request.method in ("POST", "PATCH")
            if self.refused and is_write and request.path.endswith(self.refused):
                raise kube.Forbidden("admission webhook: setting is not known", code=403)
            if self.writes_left == 0:
                raise kube.Unavailable("the process is dead")
            if self.writes_left is not None:
                self.writes_left -= 1
            self.written.append((request.method, request.path))
            if self.drops_image_volumes and "/daemonsets" in request.path and request.body:
                request = replace(request, body=_without_image_volumes(request.body))
            if self.has_webhook and "/daemonsets" in request.path and request.body:
                request = replace(request, body=_with_sidecar(request.body))
        return await self.server(request)


def _with_sidecar(body: bytes) -> bytes:
    """As an injector changes what is created or patched."""
    document = json.loads(body)
    for template in _templates(document):
        template["metadata"]["labels"]["injected"] = "true"
        template["spec"]["containers"].append({"name": "sidecar", "image": "sidecar:1"})
    return json.dumps(document).encode()


def _without_image_volumes(body: bytes) -> bytes:
    document = json.loads(body)
    for template in _templates(document):
        pod = template["spec"]
        dropped = {one["name"] for one in pod["volumes"] if "image" in one}
        pod["volumes"] = [one for one in pod["volumes"] if one["name"] not in dropped]
        for one in pod["containers"]:
            one["volumeMounts"] = [
                mount for mount in one["volumeMounts"] if mount["name"] not in dropped
            ]
    return json.dumps(document).encode()


def _templates(document: Any) -> list[Any]:
    """Those that a create or a patch writes."""
    if isinstance(document, list):
        return [one["value"] for one in document if one["path"] == "/spec/template"]
    return [document["spec"]["template"]] if "spec" in document else []


@dataclass
class PrePullCluster:
    kube: KubeClient
    """As administrator."""
    line: Line

    async def create(self, resource: Resource[Any], name: str, **parts: Any) -> Any:
        namespace = NAMESPACE if resource.namespaced else ""
        metadata = {"name": name, **parts.pop("metadata", {})}
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
        return await self.kube.create(resource, {**body, **parts}, namespace=namespace)

    async def make_image(self, name: str, url: str) -> None:
        await self.create(IMAGES, name, spec={"imageURL": url})

    async def write_setting(self, value: str) -> None:
        await self.kube.patch(SETTINGS, SETTING_NAME, {"value": value}, namespace=NAMESPACE)

    async def make_node(self, name: str, *, ready: bool = True, **labels: str) -> None:
        await self.create(NODES, name, metadata={"labels": {"kubernetes.io/os": "linux", **labels}})
        await self.turn(name, ready=ready)

    async def set_versions(self, name: str, *, kubelet: str, runtime: str) -> None:
        """As its kubelet reports them."""
        info = {"kubeletVersion": kubelet, "containerRuntimeVersion": runtime}
        status = {"status": {"nodeInfo": info}}
        await self.kube.patch(NODES, name, status, subresource="status")

    async def turn(self, name: str, *, ready: bool) -> None:
        status = {"conditions": [{"type": "Ready", "status": str(ready)}]}
        await self.kube.patch(NODES, name, {"status": status}, subresource="status")

    async def image(self, name: str) -> Image:
        return await self.kube.get(IMAGES, name, namespace=NAMESPACE)

    async def images(self) -> dict[str, Image]:
        page = await self.kube.page(IMAGES, Selection(namespace=NAMESPACE))
        return {one.metadata.name: one for one in page.items}

    async def daemon_set(self) -> DaemonSet | None:
        try:
            return await self.kube.get(DAEMON_SETS, holder.NAME, namespace=NAMESPACE)
        except kube.NotFound:
            return None

    async def pods(self) -> tuple[Pod, ...]:
        selection = Selection(namespace=NAMESPACE, label_selector=holder.HOLDER_SELECTOR)
        return (await self.kube.page(PODS, selection)).items

    async def until(
        self,
        is_so: Callable[[], Awaitable[bool]],
        what: str,
        *,
        seconds_max: float = WAIT_SECONDS_MAX,
    ) -> None:
        try:
            async with asyncio.timeout(seconds_max):
                while not await is_so():
                    await CLOCK.sleep(0.05)
        except TimeoutError:
            shown = {name: one.status for name, one in (await self.images()).items()}
            raise AssertionError(f"never came true: {what}\n{shown}") from None

    async def until_state(
        self, state: str, *names: str, seconds_max: float = WAIT_SECONDS_MAX
    ) -> None:
        async def is_so() -> bool:
            found = await self.images()
            wanted = names or tuple(found)
            return bool(wanted) and all(
                name in found and found[name].status.state == state for name in wanted
            )

        what = f"{names or 'every Image'} is {state}"
        await self.until(is_so, what, seconds_max=seconds_max)


@dataclass
class Nodes:
    """Plays the nodes until it is cancelled."""

    cluster: PrePullCluster
    absent: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Images that cannot be pulled: reason and message of the kubelet."""
    dead: set[str] = field(default_factory=set)
    """Nodes where nothing happens."""
    pull_turns: int = 1
    """How long a pull takes."""
    pulling_max: int = 0
    """The most nodes that were seen to pull at once."""
    watched: tuple[set[str], ...] = ()
    """Of each of these sets of images every node must hold one, all the time."""
    gaps: list[str] = field(default_factory=list)
    _made: int = 0
    _turns: dict[str, int] = field(default_factory=dict)

    async def run(self) -> None:
        while True:
            with contextlib.suppress(kube.Conflict, kube.NotFound):
                await self.turn()
            await CLOCK.sleep(0.01)

    async def turn(self) -> None:
        found = await self.cluster.daemon_set()
        page = await self.cluster.kube.page(NODES)
        names = [one.metadata.name for one in page.items]
        pods = await self.cluster.pods()
        pulling = 0
        for name in names:
            own = [one for one in pods if _node(one) == name]
            self._watch(name, own)
            pulling += await self._play(name, own, found)
        self.pulling_max = max(self.pulling_max, pulling)

    def _watch(self, node: str, own: list[Pod]) -> None:
        held = {
            url
            for pod in own
            for name, url in holder.held(pod).items()
            if any(one.ready and one.name == name for one in pod.status.container_statuses)
        }
        self.gaps += [f"{node}: none of {sorted(one)}" for one in self.watched if not one & held]

    async def _play(self, node: str, own: list[Pod], found: DaemonSet | None) -> int:
        uid = found.metadata.uid if found else ""
        for one in own:
            if all(owner.uid != uid for owner in one.metadata.owner_references):
                await self._end(one)
        if found is None:
            return 0
        wanted = found.metadata.annotations[holder.TEMPLATE_ANNOTATION]
        new = [one for one in own if _template(one) == wanted]
        old = [one for one in own if _template(one) != wanted]
        if not new:
            await self._make(node, found)
            return 0
        (pod,) = new
        for one in old:
            if _is_ready(pod) or not _is_ready(one):
                await self._end(one)
        if pod.spec.scheduling_gates or node in self.dead or _is_ready(pod):
            return 0
        return await self._pull(pod, node)

    async def _make(self, node: str, found: DaemonSet) -> None:
        self._made += 1
        template = found.spec["template"]
        owner = {
            "apiVersion": DAEMON_SETS.api_version,
            "kind": DAEMON_SETS.kind,
            "name": found.metadata.name,
            "uid": found.metadata.uid,
        }
        await self.cluster.create(
            PODS,
            f"{holder.NAME}-{self._made}",
            metadata={**template["metadata"], "ownerReferences": [owner]},
            spec={**template["spec"], "affinity": affinity_to(node)},
        )

    async def _pull(self, pod: Pod, node: str) -> int:
        """Whether it was pulling in this turn."""
        turns = self._turns.get(pod.metadata.uid, 0)
        self._turns[pod.metadata.uid] = turns + 1
        if turns < self.pull_turns:
            return 1
        held = holder.held(pod)
        statuses = [
            self._status(one.name, held.get(one.name, one.image)) for one in pod.spec.containers
        ]
        ready = all(one["ready"] for one in statuses)
        status = {
            "phase": "Running" if ready else "Pending",
            "conditions": [{"type": "Ready", "status": str(ready)}],
            "containerStatuses": statuses,
        }
        shown = [{"name": one.name, "ready": one.ready} for one in pod.status.container_statuses]
        if [{"name": one["name"], "ready": one["ready"]} for one in statuses] != shown:
            await self.cluster.kube.patch(
                PODS,
                pod.metadata.name,
                {"status": status},
                namespace=NAMESPACE,
                subresource="status",
            )
        return 0

    def _status(self, name: str, image: str) -> dict[str, Any]:
        common = {"name": name, "image": image, "imageID": "", "restartCount": 0}
        if image in self.absent:
            reason, message = self.absent[image]
            return {
                **common,
                "ready": False,
                "state": {"waiting": {"reason": reason, "message": message}},
            }
        return {**common, "ready": True, "state": {"running": {}}}

    async def _end(self, pod: Pod) -> None:
        await self.cluster.kube.delete(
            PODS, pod.metadata.name, namespace=NAMESPACE, uid=pod.metadata.uid
        )


def _node(pod: Pod) -> str:
    terms = pod.spec.affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    name: str = terms["nodeSelectorTerms"][0]["matchFields"][0]["values"][0]
    return name


def _template(pod: Pod) -> str:
    return pod.metadata.annotations[holder.TEMPLATE_ANNOTATION]


def _is_ready(pod: Pod) -> bool:
    return any(one.type == "Ready" and one.status == "True" for one in pod.status.conditions)


@contextlib.asynccontextmanager
async def opened() -> AsyncIterator[PrePullCluster]:
    core = Core(MemoryStorage(), CLOCK, tokens={"token": ADMIN})
    direct = Authorized(core, "token")
    admin = KubeClient(direct)
    await installation.install(admin, CLOCK, definitions_of((FEATURE,)))
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    await admin.create(NAMESPACES, body)
    yield PrePullCluster(kube=admin, line=Line(direct))
    await core.close()


@contextlib.asynccontextmanager
async def playing(cluster: PrePullCluster, **settings: Any) -> AsyncIterator[Nodes]:
    nodes = Nodes(cluster, **settings)
    task = asyncio.create_task(nodes.run())
    try:
        yield nodes
    finally:
        task.cancel()
        (ended,) = await asyncio.gather(task, return_exceptions=True)
        assert isinstance(ended, asyncio.CancelledError), f"the nodes ended: {ended!r}"


@contextlib.asynccontextmanager
async def running(
    cluster: PrePullCluster,
    *listed: tuple[str, str],
    gates: str = "",
    client: KubeClient | None = None,
    **settings: Any,
) -> AsyncIterator[None]:
    """The controller of the feature, over the line unless it has a client of its own."""
    manager = controller.controllers(
        kube=client or KubeClient(cluster.line),
        clock=CLOCK,
        metrics=Metrics(CollectorRegistry()),
        rng=random.Random(1),
        gates=parse_gates(gates),
        namespace=NAMESPACE,
        settings=(
            PrePullSettings(
                images=tuple(DefaultImage(name=name, url=url) for name, url in listed),
                **{"hold_image": HOLD_IMAGE, "quiet": QUIET, "periods": PERIODS, **settings},
            ),
        ),
        features=(FEATURE,),
    )
    work = asyncio.create_task(manager.run())
    try:
        yield
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
