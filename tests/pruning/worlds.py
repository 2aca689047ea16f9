"""A registry and a cluster of the embedded servers, with images to push and pods to run."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.cluster import KubeCluster
from lading.adapters.registry import client as registry_client
from lading.adapters.registry.administration import AdministrationClient
from lading.adapters.registry.retries import ClientLimits
from lading.adapters.state_files import LocalStateFile
from lading.embedded.registry import server as registry_server
from lading.kernel import manifests
from lading.kernel.backoff import Backoff
from lading.kernel.digests import Digest
from lading.kernel.objects import Resource
from lading.kernel.references import Reference
from lading.kernel.values import replace
from lading.ports.node import StateFile
from lading.ports.registry import Manifest
from lading.ports.registry_administration import RegistryAdministration
from lading.ports.storage import Storage
from lading.pruning.engine.controller import Pruner
from lading.pruning.engine.decisions import policy as policies
from lading.pruning.engine.decisions.guards import Limits
from lading.pruning.engine.decisions.policy import Policy
from lading.pruning.engine.inventory.manifest_table import ManifestTable
from lading.pruning.engine.prune_request import PruneRequest
from lading.pruning.engine.references.custom_paths import READY_MADE
from lading.pruning.engine.references.observe import Reading
from lading.pruning.engine.trash.registry_file import RegistryFile
from lading.pruning.engine.trash.trash import Trash, TrashSettings
from lading.pruning.engine.types import Settings, Source
from tests.loop import server as kube_server

PODS: Resource[dict[str, Any]] = Resource(
    group="", version="v1", kind="Pod", plural="pods", namespaced=True, type=dict
)
AT_ONCE = Settings(keep_younger_than=timedelta(0))
KEEP_KEPT = policies.parse(
    {"policies": [{"repositories": ["**"], "keepTags": [{"patterns": ["keep.*"]}]}]}
)
SMALL = ClientLimits(attempts_max=3, back_off=Backoff(seconds_min=0.01, seconds_max=0.01))


@dataclass
class Shelf:
    """Pushes images into one registry."""

    admin: RegistryAdministration
    host: str

    def at(self, name: str) -> Reference:
        """`repository:tag` or `repository@digest`."""
        repository, at, digest = name.partition("@")
        repository, colon, tag = repository.partition(":")
        return Reference(
            registry=self.host,
            repository=repository,
            tag=tag if colon else None,
            digest=Digest(*digest.split(":")) if at else None,
        )

    async def image(
        self, name: str, *, layers: Sequence[bytes] = (b"layer",), **more: Any
    ) -> Manifest:
        place = self.at(name)
        config = await self.admin.push_blob(place, json.dumps({"for": name}).encode())
        pushed = [await self.admin.push_blob(place, layer) for layer in layers]
        document = {
            "schemaVersion": 2,
            "mediaType": manifests.OCI_MANIFEST,
            "config": self.entry(config.digest, config.size_bytes, manifests.OCI_CONFIG),
            "layers": [
                self.entry(one.digest, one.size_bytes, manifests.OCI_LAYER_GZIP) for one in pushed
            ],
            **more,
        }
        return await self.push(name, document, manifests.OCI_MANIFEST)

    async def index(self, name: str, *children: Manifest) -> Manifest:
        document = {
            "schemaVersion": 2,
            "mediaType": manifests.OCI_INDEX,
            "manifests": [
                self.entry(one.digest, len(one.content), one.media_type) for one in children
            ],
        }
        return await self.push(name, document, manifests.OCI_INDEX)

    async def push(self, name: str, document: Mapping[str, Any], media_type: str) -> Manifest:
        content = json.dumps(document).encode()
        manifest = Manifest(media_type=media_type, digest=Digest.of(content), content=content)
        await self.admin.push_manifest(self.at(name), manifest)
        return manifest

    @staticmethod
    def entry(digest: Digest, size: int, media_type: str) -> dict[str, Any]:
        return {"mediaType": media_type, "digest": str(digest), "size": size}

    async def tags(self, repository: str) -> set[str]:
        return set(await self.admin.tags(self.at(repository)))

    async def pullable(self, name: str) -> bool:
        """Whether the image is there with everything that it needs."""
        place = self.at(name)
        if await self.admin.head(place) is None:
            return False
        manifest = await self.admin.manifest(place)
        document = json.loads(manifest.content)
        for entry in (document.get("config"), *document.get("layers", ())):
            if entry is not None and "foreign" not in entry["mediaType"]:
                digest = Digest(*entry["digest"].split(":"))
                await self.admin.blob(place, digest, bytes_max=1 << 20)
        children = [entry["digest"] for entry in document.get("manifests", ())]
        results = [await self.pullable(f"{place.repository}@{child}") for child in children]
        return all(results)


@dataclass
class World:
    shelf: Shelf
    kube: KubeClient
    api: kube_server.ApiServer
    state: Path
    registry: RegistryAdministration
    settings: Settings = AT_ONCE
    policy: Policy = KEEP_KEPT
    limits: Limits = field(default_factory=lambda: Limits(share_percent_max=100))
    with_trash: bool = True
    repositories: tuple[str, ...] = ()
    known: ManifestTable = field(default_factory=ManifestTable)
    storage: Storage | None = None
    """That of the registry; the API of the registry is asked without."""
    has_state_folder: bool = True
    """Without, the ledger is in the trash repository."""

    @property
    def trash(self) -> Trash:
        return Trash(self.registry, TrashSettings(registry=self.shelf.host))

    @property
    def ledger_file(self) -> StateFile:
        if self.has_state_folder:
            return LocalStateFile(self.state / "ledger.json")
        place = replace(self.shelf.at(self.trash.settings.repository), tag="ledger")
        return RegistryFile(self.registry, place)

    def pruner(self) -> Pruner:
        request = PruneRequest(
            source=Source.STORAGE if self.storage else Source.REGISTRY,
            registry=self.shelf.host,
            registry_names=(self.shelf.host, "registry.test"),
            mirrors=(),
            reading=Reading(settings=self.settings, custom=READY_MADE),
            policy=self.policy,
            limits=self.limits,
            repositories=self.repositories,
            fills_trash=self.with_trash,
        )
        return Pruner(
            request,
            clusters=[KubeCluster(self.kube, address="test")],
            files=(),
            registry=self.registry,
            storage=self.storage,
            trash=self.trash,
            ledger_file=self.ledger_file,
            known=self.known,
            clock=SystemClock(),
        )

    async def run_pod(self, image: str, name: str = "web") -> None:
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "images"},
            "spec": {"containers": [{"name": "main", "image": image}]},
        }
        await self.kube.create(PODS, body, namespace="images")

    async def report_image_id(self, image_id: str) -> None:
        """A pod runs, by the name that its runtime has for the image."""
        await self.run_pod("elsewhere.test/other:1")
        pod = await self.kube.get(PODS, "web", namespace="images")
        status = {"phase": "Running", "containerStatuses": [{"imageID": image_id}]}
        cluster = KubeCluster(self.kube, address="")
        await cluster.replace_status(PODS, {**pod, "status": status})


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[World]:
    """With the embedded registry."""
    async with registry_server.serve(folder / "registry") as url, on(url, folder) as world:
        yield world


@asynccontextmanager
async def shelf_at(url: str) -> AsyncIterator[Shelf]:
    """For the registry at this address, without a cluster."""
    async with registry_client.connect(SystemClock(), limits=SMALL) as client:
        yield Shelf(AdministrationClient(client), url.partition("://")[2])


@asynccontextmanager
async def on(url: str, folder: Path) -> AsyncIterator[World]:
    """With the registry at this address."""
    clock = SystemClock()
    state = folder / "state"
    await asyncio.to_thread(state.mkdir, parents=True)
    async with (
        registry_client.connect(clock, limits=SMALL) as client,
        kube_server.serving(clock) as api,
    ):
        admin = AdministrationClient(client)
        kube = KubeClient(api)
        host = url.partition("://")[2]
        world = World(shelf=Shelf(admin, host), kube=kube, api=api, state=state, registry=admin)
        await world.run_pod("registry.test/base/always:keep", name="base")
        yield world
