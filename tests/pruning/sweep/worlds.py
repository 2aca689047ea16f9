"""A storage in memory with a registry on it, and sweeps of both."""

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, cast

from lading.kernel.digests import Digest
from lading.ports import registry as registries
from lading.ports.kube import Cluster
from lading.ports.registry_administration import RegistryAdministration
from lading.pruning.engine.decisions.guards import Limits
from lading.pruning.engine.references.custom_paths import READY_MADE
from lading.pruning.engine.references.observe import ClusterReferences, Reading
from lading.pruning.engine.types import Mention, Settings
from lading.pruning.sweep import layout
from lading.pruning.sweep.controller import Sweeper, SweepRequest, SweepResult
from lading.pruning.sweep.lock import StorageLock
from lading.pruning.sweep.probe import Replica
from lading.pruning.sweep.storage_file import StorageFile
from lading.pruning.sweep.types import BlobReason, SweepSettings
from tests.pruning.sweep.memory_storage import START, MemoryStorage
from tests.pruning.sweep.storage_registry import StorageRegistry, image_content

GRACE = timedelta(hours=24)
STATE = f"{layout.OWN}/state.json"
HOST = "registry.test"
OTHER_HOLDER = b'{"token": "other", "host": "elsewhere", "pid": 1}'
"""A lock that another sweep has taken over."""


@dataclass
class StorageTime:
    """The clock of a machine beside that of the storage; who waits lets the time pass."""

    storage: MemoryStorage
    on_sleep: Any = None
    is_ahead_by: timedelta = timedelta(0)

    def now(self) -> datetime:
        return self.storage.now + self.is_ahead_by

    def monotonic(self) -> float:
        return (self.storage.now - START).total_seconds()

    async def sleep(self, seconds: float) -> None:
        self.storage.pass_time(seconds=seconds)
        if self.on_sleep is not None:
            self.on_sleep()


@dataclass
class SweepWorld:
    storage: MemoryStorage = field(default_factory=MemoryStorage)
    clock_is_ahead_by: timedelta = timedelta(0)
    limits: Limits = field(default_factory=lambda: Limits(share_percent_max=100))
    untagged: bool = False
    references: tuple[str, ...] = ("registry.test/nothing:v1",)
    settings: dict[str, Any] = field(default_factory=dict)
    on_sleep: Any = None
    """Called between what a sweep takes away and its second look."""
    replicas: tuple[StorageRegistry, ...] = ()
    with_probe: bool = True
    clusters: tuple[Cluster, ...] = ()
    with_images: bool = False

    def __post_init__(self) -> None:
        if not self.replicas:
            self.replicas = (StorageRegistry(self.storage),)

    @property
    def registry(self) -> StorageRegistry:
        return self.replicas[0]

    def sweeper(self, *, offline: bool = False) -> Sweeper:
        storage = self.storage
        mentions = tuple(Mention(text, "Pod/pod") for text in self.references)
        file = ClusterReferences(cluster="test", taken_at=storage.now, mentions=mentions)
        settings = {"grace": GRACE, "copy_bytes_max": storage.copy_bytes_max, **self.settings}
        return Sweeper(
            SweepRequest(
                settings=SweepSettings(is_offline=offline, **settings),
                limits=self.limits,
                untagged=self.untagged,
                with_images=self.with_images,
                reading=Reading(settings=Settings(), custom=READY_MADE),
                registry_names=(HOST,),
            ),
            storage=storage,
            replicas=[
                Replica(registry=cast(RegistryAdministration, one), host=HOST)
                for one in (self.replicas if self.with_probe else ())
            ],
            clusters=self.clusters,
            files=(file,) if self.untagged else (),
            state_file=StorageFile(storage, STATE),
            known_file=StorageFile(storage, f"{layout.OWN}/manifests"),
            lock=StorageLock(storage),
            clock=StorageTime(storage, self.on_sleep, self.clock_is_ahead_by),
        )

    async def run(self, *, offline: bool = False) -> SweepResult:
        return await self.sweeper(offline=offline).run()

    async def offline(self) -> SweepResult:
        """One pass over what is older than the grace period."""
        self.storage.pass_time(hours=25)
        return await self.run(offline=True)

    async def whole(self) -> None:
        """Condemned in a first run, gone in a second."""
        for _ in range(2):
            self.storage.pass_time(hours=25)
            await self.run()

    async def reasons(self, *, offline: bool = False) -> dict[str, BlobReason]:
        plan, observed, _ = await self.sweeper(offline=offline).preview()
        blobs = observed.facts.listing.blobs
        return {
            blobs.digest(place): BlobReason(int(reason))
            for place, reason in enumerate(plan.reasons)
        }

    def push_again(self, name: str, tag: str, layers: list[bytes]) -> str:
        """As a client does it: without what the registry has, and once more when it is refused."""
        registry = self.registry
        for _ in range(2):
            contents = [f"config {layers!r}".encode(), *layers]
            digests = []
            for content in contents:
                digest = self.digest(content)
                if not registry._has(name, digest):
                    registry.upload(name, content)
                digests.append(digest)
            with suppress(registries.MalformedAnswer):
                return registry.put_manifest(name, image_content(digests[0], digests[1:]), tag)
        raise AssertionError("a push that is repeated succeeds")

    @staticmethod
    def digest(content: bytes) -> str:
        return str(Digest.of(content))

    def has_data(self, digest: str) -> bool:
        return layout.data_path(digest) in self.storage.objects

    def has_layer(self, name: str, digest: str) -> bool:
        return layout.layer_link(name, digest) in self.storage.objects

    @property
    def blobs(self) -> set[str]:
        return {one for one in self.storage.objects if one.startswith(layout.BLOBS)}
