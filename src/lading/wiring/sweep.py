"""Opens a sweep of orphaned blobs: storage, replicas of the registry, clusters, saved state."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path

import msgspec

from lading.adapters.clock import SystemClock
from lading.adapters.kube import connect
from lading.adapters.kube.cluster import KubeCluster
from lading.adapters.kube.connection import Connection
from lading.adapters.state_files import LocalStateFile
from lading.kernel.values import replace
from lading.ports.node import StateFile
from lading.ports.storage import Storage
from lading.pruning.engine.decisions.guards import Limits
from lading.pruning.engine.references.custom_paths import READY_MADE
from lading.pruning.engine.references.observe import Reading
from lading.pruning.engine.registry_url import RegistryUrl
from lading.pruning.engine.types import Settings
from lading.pruning.sweep import layout
from lading.pruning.sweep.controller import Sweeper, SweepRequest
from lading.pruning.sweep.lock import StorageLock
from lading.pruning.sweep.probe import Replica
from lading.pruning.sweep.storage_file import StorageFile
from lading.pruning.sweep.types import SweepSettings
from lading.wiring import prune
from lading.wiring.prune import PruneOptions, RegistryTrust

STATE = "state.json"
KNOWN = "manifests"


class SweepOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to sweep, as the command line says it. The defaults are those of its options."""

    storage_url: str
    settings: SweepSettings
    urls: tuple[RegistryUrl, ...] = ()
    """The address of each replica of the registry."""
    trust: RegistryTrust = RegistryTrust()
    registry_names: tuple[str, ...] = ()
    connections: tuple[Connection, ...] = ()
    reference_files: tuple[Path, ...] = ()
    references_age_max: timedelta = prune.REFERENCES_AGE_MAX_DEFAULT
    reading: Reading = Reading(settings=Settings(), custom=READY_MADE)
    untagged: bool = False
    with_images: bool = False
    limits: Limits = Limits()
    state_folder: Path | None = None


def after_images(
    options: PruneOptions, *, urls: tuple[RegistryUrl, ...], grace: timedelta
) -> SweepOptions:
    """A sweep of the registry that these options prune, with the same limits."""
    return SweepOptions(
        storage_url=options.storage_url,
        urls=urls,
        trust=options.trust,
        registry_names=options.registry_names,
        connections=options.connections,
        reading=options.reading,
        limits=options.limits,
        settings=SweepSettings(grace=grace),
        state_folder=options.state_folder,
    )


@asynccontextmanager
async def open_sweeper(options: SweepOptions) -> AsyncIterator[Sweeper]:
    clock = SystemClock()
    storage = prune.open_storage(options.storage_url)
    async with AsyncExitStack() as stack:
        clusters = [
            KubeCluster(
                await stack.enter_async_context(connect.connect(one, clock)), address=one.server
            )
            for one in options.connections
        ]
        replicas = [
            Replica(
                registry=await stack.enter_async_context(
                    prune.open_administration(url, clock, trust=options.trust)
                ),
                host=url.host,
            )
            for url in options.urls
        ]
        yield Sweeper(
            SweepRequest(
                settings=replace(options.settings, copy_bytes_max=storage.copy_bytes_max),
                limits=options.limits,
                untagged=options.untagged,
                with_images=options.with_images,
                reading=options.reading,
                registry_names=(*(url.host for url in options.urls), *options.registry_names),
            ),
            storage=storage,
            replicas=replicas,
            clusters=clusters,
            files=await prune.reference_files(
                options.reference_files, clock, age_max=options.references_age_max
            ),
            state_file=_file(options.state_folder, storage, STATE),
            known_file=_file(options.state_folder, storage, KNOWN),
            lock=StorageLock(storage),
            clock=clock,
        )


def _file(folder: Path | None, storage: Storage, name: str) -> StateFile:
    if folder is not None:
        return LocalStateFile(folder / f"sweep-{name}", root=folder)
    return StorageFile(storage, f"{layout.OWN}/{name}")
