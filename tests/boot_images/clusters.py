"""A cluster in memory with machine sets: API server and controllers are real, clouds are not."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.api import loose
from lading.api.apiextensions import CUSTOM_RESOURCE_DEFINITIONS
from lading.api.cluster_api import CLUSTER_MACHINE_SETS
from lading.api.core import CONFIG_MAPS, NAMESPACES, NODES, SECRETS, Secret
from lading.api.machine import MACHINE_SETS, MachineSet
from lading.api.machineconfiguration.boot_image_history import (
    MACHINE_SET_BOOT_IMAGE_HISTORIES,
    MachineSetBootImageHistory,
)
from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.api.openshift_config import CLUSTER_VERSIONS, INFRASTRUCTURES
from lading.api.operator import MACHINE_CONFIGURATIONS, MachineConfiguration
from lading.boot_images import history
from lading.boot_images.controller import BootImageCaches, MachineSetsReconciler
from lading.boot_images.feature import FEATURE
from lading.boot_images.metrics import BootImageMetrics
from lading.boot_images.platforms.types import Api
from lading.boot_images.status import WORKER_POOL
from lading.boot_images.status_controller import StatusCaches, StatusReconciler
from lading.boot_images.types import BootImageSettings
from lading.embedded.api_server import Authorized
from lading.embedded.kube.authentication import ADMIN
from lading.embedded.kube.core import Core
from lading.embedded.kube.storage.memory import MemoryStorage
from lading.installation import apply as installation
from lading.kernel.objects import Key, Resource
from lading.kernel.pacing import Pacing
from lading.loop.informer import Informers, OptionalInformer
from lading.loop.manager import Manager
from lading.loop.pool_contributions import PoolContributions
from lading.loop.recorder import EventRecorder
from lading.observability.metrics import Metrics
from lading.pools.controller import PoolStatusReconciler
from lading.pools.feature import FEATURE as POOLS
from lading.ports import kube
from lading.ports.http import HttpTransport, Request, Response
from lading.ports.kube import Selection
from lading.wiring import controller
from lading.wiring.features import definitions_of
from lading.wiring.gates import parse_gates
from tests.boot_images import streams
from tests.boot_images.worlds import (
    CLUSTER_NAMESPACE,
    INFRA,
    MACHINE_NAMESPACE,
    NAMESPACE,
    gcp_spec,
    secret,
)

WAIT_SECONDS_MAX = 120.0  # for a busy machine
CLOCK = SystemClock()
GOLDEN_NAMESPACE = "openshift-machine-config-operator"


@dataclass
class Line:
    """The controller's way to the API server: what is written is counted, and it can be cut."""

    server: HttpTransport
    requests: list[tuple[str, str]] = field(default_factory=list)
    writes_left: int | None = None
    """After so many writes the line is dead, as after kill -9."""
    refused: str = ""
    """Writes to this path are refused."""
    unreadable: str = ""
    """Reads of a path that ends so are refused."""
    is_dead: bool = False
    """Whether a write was attempted after the last one that was let through."""

    async def __call__(self, request: Request) -> Response:
        self.requests.append((request.method, request.path))
        is_write = request.method != "GET" and "/events" not in request.path
        if is_write and self.refused and self.refused in request.path:
            raise kube.Forbidden(f"{request.path} is refused", code=403)
        if not is_write and self.unreadable and request.path.endswith(self.unreadable):
            raise kube.Forbidden(f"{request.path} may not be read", code=403)
        if is_write and self.writes_left is not None:
            if self.writes_left == 0:
                self.is_dead = True
                raise kube.Unavailable("the process is dead")
            self.writes_left -= 1
        return await self.server(request)

    def writes(self) -> list[tuple[str, str]]:
        return [one for one in self.requests if one[0] != "GET" and "/events" not in one[1]]


@dataclass
class BootCluster:
    kube: KubeClient
    """As administrator."""
    line: Line

    async def create(
        self, resource: Resource[Any], name: str, namespace: str = "", **parts: Any
    ) -> Any:
        metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
        metadata |= parts.pop("metadata", {})
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
        return await self.kube.create(resource, {**body, **parts}, namespace=namespace)

    async def make_set(self, name: str = "worker-a", value: Any = None, **metadata: Any) -> None:
        spec = {"template": {"spec": {"providerSpec": {"value": value or gcp_spec()}}}}
        await self.create(MACHINE_SETS, name, MACHINE_NAMESPACE, spec=spec, metadata=metadata)

    async def make_stub(self, stub: Any = None, name: str = "worker-user-data") -> None:
        found = secret(stub, name=name)
        await self.create(SECRETS, name, MACHINE_NAMESPACE, type="Opaque", data=found.data)

    async def make_golden(self, **data: str) -> None:
        await self.create(
            CONFIG_MAPS, "coreos-bootimages", GOLDEN_NAMESPACE, data=streams.data(**data)
        )

    async def enrol(self, mode: str = "Enabled", **config: Any) -> None:
        spec = {"managedBootImageConfig": {"mode": mode, **config}}
        await self.create(MACHINE_CONFIGURATIONS, "default", spec=spec)

    async def make_node(self, name: str = "node-a", **labels: str) -> None:
        await self.create(NODES, name, metadata={"labels": labels})
        status = {
            "conditions": [{"type": "Ready", "status": "True"}],
            "nodeInfo": {"architecture": "amd64", "operatingSystem": "linux"},
        }
        await self.kube.patch(NODES, name, {"status": status}, subresource="status")

    async def complete(self, version: str = streams.VERSION) -> None:
        """As OpenShift's operator does at the end of an update."""
        await self.create(CLUSTER_VERSIONS, "version")
        status = {"history": [{"state": "Completed", "version": version}]}
        await self.kube.patch(CLUSTER_VERSIONS, "version", {"status": status}, subresource="status")
        await self.create(INFRASTRUCTURES, "cluster")
        status_ = {"infrastructureName": INFRA}
        await self.kube.patch(INFRASTRUCTURES, "cluster", {"status": status_}, subresource="status")

    async def usual(self, *names: str, stub: Any = None, value: Any = None) -> None:
        """A cluster that completed its update, with these machine sets."""
        await self.complete()
        await self.make_node()
        await self.make_golden()
        await self.make_stub(stub)
        for name in names or ("worker-a",):
            await self.make_set(name, value)
        await self.enrol()

    async def get_set(self, name: str = "worker-a") -> MachineSet:
        return await self.kube.get(MACHINE_SETS, name, namespace=MACHINE_NAMESPACE)

    async def machine(self, name: str = "worker-a") -> dict[str, Any]:
        found = await self.get_set(name)
        value: dict[str, Any] = found.spec["template"]["spec"]["providerSpec"]["value"]
        return value

    async def image(self, name: str = "worker-a") -> str:
        return str((await self.machine(name))["disks"][0]["image"])

    async def secret(self, name: str) -> Secret | None:
        try:
            return await self.kube.get(SECRETS, name, namespace=MACHINE_NAMESPACE)
        except kube.NotFound:
            return None

    async def history(self, name: str = "worker-a") -> MachineSetBootImageHistory | None:
        key = history.name_of(Api.MACHINE, Key(MACHINE_NAMESPACE, name))
        try:
            return await self.kube.get(MACHINE_SET_BOOT_IMAGE_HISTORIES, key, namespace=NAMESPACE)
        except kube.NotFound:
            return None

    async def configuration(self) -> MachineConfiguration:
        return await self.kube.get(MACHINE_CONFIGURATIONS, "default")

    async def until_state(self, state: str, name: str = "worker-a", reason: str = "") -> None:
        async def is_so() -> bool:
            found = await self.history(name)
            status = found.status if found else None
            return status is not None and status.state == state and reason in status.reason

        await self.until(is_so, f"{name} is {state} {reason}")

    async def until(self, is_so: Callable[[], Awaitable[bool]], what: str) -> None:
        try:
            async with asyncio.timeout(WAIT_SECONDS_MAX):
                while not await is_so():
                    await CLOCK.sleep(0.05)
        except TimeoutError:
            page = await self.kube.page(
                MACHINE_SET_BOOT_IMAGE_HISTORIES, Selection(namespace=NAMESPACE)
            )
            shown = [(one.metadata.name, one.status) for one in page.items]
            raise AssertionError(f"never came true: {what}\n{shown}") from None


@contextlib.asynccontextmanager
async def opened(*, with_kinds: bool = True) -> AsyncIterator[BootCluster]:
    core = Core(MemoryStorage(), CLOCK, tokens={"token": ADMIN})
    direct = Authorized(core, "token")
    admin = KubeClient(direct)
    await installation.install(admin, CLOCK, definitions_of((FEATURE, POOLS)))
    if with_kinds:
        await install_kinds(admin)
    for name in (MACHINE_NAMESPACE, CLUSTER_NAMESPACE, GOLDEN_NAMESPACE, NAMESPACE):
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await admin.create(NAMESPACES, body)
    yield BootCluster(kube=admin, line=Line(direct))
    await core.close()


async def install_kinds(admin: KubeClient, *names: str) -> None:
    """All kinds of others, or those of these names."""
    for manifest in loose.manifests():
        if not names or manifest["metadata"]["name"] in names:
            await admin.create(CUSTOM_RESOURCE_DEFINITIONS, manifest)


async def install_older_kinds(admin: KubeClient) -> None:
    """All kinds of others, as a Cluster API serves them that knows no v1beta2."""
    for manifest in loose.manifests():
        versions = [one for one in manifest["spec"]["versions"] if one["name"] != "v1beta2"]
        kept = [{**one, "storage": number == 0} for number, one in enumerate(versions)]
        whole = {**manifest, "spec": {**manifest["spec"], "versions": kept}}
        await admin.create(CUSTOM_RESOURCE_DEFINITIONS, whole)


@contextlib.asynccontextmanager
async def running(
    cluster: BootCluster,
    gates: str = "ManagedBootImages=true",
    settings: Mapping[str, Any] | None = None,
    client: KubeClient | None = None,
    metrics: CollectorRegistry | None = None,
) -> AsyncIterator[Manager]:
    """The controller of the feature, over the line unless it has a client of its own."""
    manager = controller.controllers(
        kube=client or KubeClient(cluster.line),
        clock=CLOCK,
        metrics=Metrics(metrics or CollectorRegistry()),
        rng=random.Random(1),
        gates=parse_gates(gates),
        namespace=NAMESPACE,
        settings=(BootImageSettings(**(settings or {})),),
        features=(FEATURE, POOLS),
    )
    work = asyncio.create_task(manager.run())
    try:
        yield manager
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


async def reconciler_with_caches_of_now(
    cluster: BootCluster, api: Api = Api.MACHINE, settings: BootImageSettings | None = None
) -> MachineSetsReconciler:
    """Over the line, with caches that no watch changes any more."""
    settings = settings or BootImageSettings()
    resource = MACHINE_SETS if api is Api.MACHINE else CLUSTER_MACHINE_SETS
    client, rng, metrics = KubeClient(cluster.line), random.Random(1), Metrics(CollectorRegistry())
    informers = Informers(kube=client, clock=CLOCK, rng=rng, metrics=metrics)
    caches = BootImageCaches.of(informers, resource, api, settings, NAMESPACE)
    await fill(informers)
    recorder = EventRecorder(
        kube=client, clock=CLOCK, rng=rng, metrics=metrics, controller="test", instance="test"
    )

    def optional(resource: Resource[Any]) -> OptionalInformer[Any]:
        return OptionalInformer(
            kube=client, clock=CLOCK, rng=rng, informers=informers, resource=resource
        )

    return MachineSetsReconciler(
        api=api,
        machine_sets=resource,
        kube=client,
        clock=CLOCK,
        caches=caches,
        cluster_versions=optional(CLUSTER_VERSIONS),
        infrastructures=optional(INFRASTRUCTURES),
        settings=settings,
        recorder=recorder,
        namespace=NAMESPACE,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reporters:
    """What reports about all machine sets together."""

    configurations: StatusReconciler
    pools: PoolStatusReconciler

    async def report(self) -> None:
        """One pass over everything that is reported about."""
        for name in ("default", "cluster"):
            await self.configurations.reconcile(Key("", name))
        await self.pools.reconcile(Key("", WORKER_POOL))


async def reporters_with_caches_of_now(cluster: BootCluster) -> Reporters:
    """Over the line, with caches that no watch changes any more."""
    client, rng, metrics = KubeClient(cluster.line), random.Random(1), Metrics(CollectorRegistry())
    informers = Informers(kube=client, clock=CLOCK, rng=rng, metrics=metrics)
    caches = StatusCaches.of(informers, NAMESPACE)
    pools = informers.of(MACHINE_CONFIG_POOLS)
    await fill(informers)
    configurations = StatusReconciler(
        kube=client,
        clock=CLOCK,
        caches=caches,
        metrics=BootImageMetrics(CollectorRegistry()),
        is_on=True,
    )
    contributions = PoolContributions()
    contributions.place().settle(configurations)
    recorder = EventRecorder(
        kube=client, clock=CLOCK, rng=rng, metrics=metrics, controller="test", instance="test"
    )
    writer = PoolStatusReconciler(
        pools=pools,
        contributions=contributions,
        kube=client,
        clock=CLOCK,
        recorder=recorder,
        pacing=Pacing(),
    )
    return Reporters(configurations=configurations, pools=writer)


async def fill(informers: Informers) -> None:
    """Once, as they are now."""
    filled = asyncio.create_task(informers.run())
    await informers.wait_synced()
    filled.cancel()
    await asyncio.gather(filled, return_exceptions=True)
