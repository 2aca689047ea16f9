"""Opens a session of the pruner: clusters, registry, trash and the files of earlier runs."""

import asyncio
import os
import tomllib
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path

import msgspec

from lading import files
from lading.adapters.clock import SystemClock
from lading.adapters.kube import connect
from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.cluster import KubeCluster
from lading.adapters.kube.connection import Connection
from lading.adapters.registry import client as registry_client
from lading.adapters.registry import endpoints, node_credentials
from lading.adapters.registry.administration import AdministrationClient
from lading.adapters.registry.certificates import HostCertificates
from lading.adapters.registry.credentials import Chain, CredentialSource, Table
from lading.adapters.registry.endpoints import Endpoint
from lading.adapters.state_files import LocalStateFile
from lading.kernel.errors import UNREADABLE, Malformed
from lading.kernel.references import Reference
from lading.ports.kube import Cluster
from lading.ports.node import StateFile
from lading.ports.registry import Credential
from lading.ports.storage import Storage
from lading.pruning.engine.controller import Pruner
from lading.pruning.engine.decisions.guards import Limits
from lading.pruning.engine.decisions.policy import NO_POLICY, Policy
from lading.pruning.engine.inventory import observe_streams
from lading.pruning.engine.inventory.manifest_table import ManifestTable
from lading.pruning.engine.inventory.observe_registry import WORKERS_DEFAULT
from lading.pruning.engine.prune_request import PruneRequest
from lading.pruning.engine.references import mirrors, observe, references_file
from lading.pruning.engine.references.custom_paths import READY_MADE, CustomPath
from lading.pruning.engine.references.observe import ClusterReferences, Reading
from lading.pruning.engine.registry_url import RegistryUrl
from lading.pruning.engine.trash.registry_file import RegistryFile
from lading.pruning.engine.trash.trash import REPOSITORY_DEFAULT, Trash, TrashSettings
from lading.pruning.engine.types import TRASH_PERIOD_DEFAULT, Settings, Source
from lading.wiring.registries import report_problem

LEDGER_TAG = "ledger"
REFERENCES_AGE_MAX_DEFAULT = timedelta(hours=1)
REFERENCES_BYTES_MAX = 512 * 1024 * 1024  # millions of pods


class RegistryTrust(msgspec.Struct, frozen=True):
    """How the certificate of the registry is verified."""

    authority: Path | None = None
    insecure: bool = False


class PruneOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to prune, as the command line says it. The defaults are those of its options."""

    connections: tuple[Connection, ...] = ()
    reference_files: tuple[Path, ...] = ()
    references_age_max: timedelta = REFERENCES_AGE_MAX_DEFAULT
    source: Source | None = None
    """None: ImageStreams if the cluster serves them, else a plain registry."""
    url: RegistryUrl | None = None
    trust: RegistryTrust = RegistryTrust()
    registry_names: tuple[str, ...] = ()
    mirror_files: tuple[Path, ...] = ()
    """Files like registries.conf, and folders like certs.d."""
    storage_url: str = ""
    """Empty: read the API of the registry."""
    repositories: tuple[str, ...] = ()
    reading: Reading = Reading(settings=Settings(), custom=READY_MADE)
    policy: Policy = NO_POLICY
    limits: Limits = Limits()
    trash: bool | None = None
    """None: for plain registries only."""
    trash_repository: str = ""
    """Empty: the default of the source."""
    trash_period: timedelta = TRASH_PERIOD_DEFAULT
    state_folder: Path | None = None
    workers: int = WORKERS_DEFAULT


class PruneSession(msgspec.Struct, frozen=True, kw_only=True):
    """A pruner with open connections."""

    pruner: Pruner
    source: Source
    registry: str
    kube: KubeClient | None = None
    """The client of the first cluster."""


class NothingToPrune(Exception):
    """There is no registry, or the options exclude it."""


@asynccontextmanager
async def open_pruner(options: PruneOptions) -> AsyncIterator[PruneSession]:
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(connect.connect(one, clock))
            for one in options.connections
        ]
        clusters = [
            KubeCluster(client, address=one.server)
            for client, one in zip(clients, options.connections, strict=True)
        ]
        hosts = await observe_streams.registry_hosts(clusters[0]) if clusters else None
        source = options.source or (Source.REGISTRY if hosts is None else Source.IMAGE_STREAMS)
        storage = open_storage(options.storage_url) if source is Source.STORAGE else None
        registry = _registry_name(options, source, hosts or ())
        administration = await stack.enter_async_context(
            open_administration(
                options.url or RegistryUrl(host=registry),
                clock,
                trust=options.trust,
                cluster_token=await _cluster_token(options, source, clusters),
            )
        )
        trash = _trash(options, source, registry, administration)
        known_file = _state_file(options, registry, "manifests")
        known = await _known(known_file)
        yield PruneSession(
            source=source,
            registry=registry,
            kube=clients[0] if clients else None,
            pruner=Pruner(
                PruneRequest(
                    source=source,
                    registry=registry,
                    registry_names=(registry, *options.registry_names, *(hosts or ())),
                    mirrors=await asyncio.to_thread(_mirrors, options.mirror_files),
                    reading=options.reading,
                    policy=options.policy,
                    limits=options.limits,
                    repositories=options.repositories,
                    workers=options.workers,
                    fills_trash=options.trash is not False,
                ),
                clusters=clusters,
                files=await reference_files(
                    options.reference_files, clock, age_max=options.references_age_max
                ),
                registry=administration,
                storage=storage,
                trash=trash,
                ledger_file=_ledger_file(options, source, registry, trash),
                known=known,
                clock=clock,
            ),
        )
        if known_file is not None:
            await known_file.replace(known.encoded())


def _registry_name(options: PruneOptions, source: Source, hosts: tuple[str, ...]) -> str:
    if source is not Source.IMAGE_STREAMS and not options.reading.settings.prune_registry:
        raise NothingToPrune(
            "--prune-registry=false deletes only API objects, and a plain registry has none"
        )
    if options.url is not None:
        return options.url.host
    if source is Source.IMAGE_STREAMS and hosts:
        return hosts[0]
    if source is Source.IMAGE_STREAMS and not options.reading.settings.prune_registry:
        return "(none)"
    raise NothingToPrune(
        "No registry is known: no ImageStream of the cluster names one; set --registry-url to the"
        " address of the registry"
    )


@asynccontextmanager
async def open_administration(
    url: RegistryUrl,
    clock: SystemClock,
    *,
    trust: RegistryTrust,
    cluster_token: Credential | None = None,
) -> AsyncIterator[AdministrationClient]:
    """A client of the registry at this address. It uses no mirror.

    It has the logins of this machine, and for ImageStreams the token of the cluster.
    """
    async with registry_client.connect(
        clock,
        routing=OneRegistry(url, trust),
        credentials=_credentials(url.host, clock, cluster_token),
        environment=os.environ,
    ) as client:
        yield AdministrationClient(client)


def open_storage(url: str) -> Storage:
    """Runs on the API of a registry need no obstore, so it is imported here."""
    from lading.adapters.storage import object_storage

    return object_storage.open_storage(url, environment=os.environ)


class OneRegistry:
    """Connects to the registry that is pruned, and to no mirror.

    It uses HTTPS. It falls back to HTTP if the address has no scheme and is a loopback address, or
    with --force-insecure.
    """

    def __init__(self, url: RegistryUrl, trust: RegistryTrust) -> None:
        authority = trust.authority
        is_local = authority is None and not url.scheme and endpoints.is_loopback(url.host)
        insecure = trust.insecure or is_local
        certificates = HostCertificates(authorities=(authority,) if authority else ())
        self._scheme = url.scheme or "https"
        self._tls = certificates.context(skip_verify=insecure)
        self._may_be_plain = insecure and not url.scheme

    def endpoints(self, reference: Reference) -> tuple[Endpoint, ...]:
        host = endpoints.required_registry(reference)
        return (
            Endpoint(
                url=f"{self._scheme}://{host}/v2",
                host=host,
                repository=reference.repository,
                tls=self._tls,
                may_be_plain_http=self._may_be_plain,
            ),
        )


def _credentials(
    registry: str, clock: SystemClock, cluster_token: Credential | None
) -> CredentialSource:
    paths = node_credentials.auth_file_paths(os.environ, Path("/"))
    logins = node_credentials.from_auth_files(paths, clock, report_problem)
    return Chain((logins, Table({registry: cluster_token}))) if cluster_token else logins


async def _cluster_token(
    options: PruneOptions, source: Source, clusters: Sequence[Cluster]
) -> Credential | None:
    """oc sends this token to the registry of the cluster; no other host gets it."""
    if source is not Source.IMAGE_STREAMS or not clusters:
        return None
    user = options.connections[0].user
    token = user.token
    if user.token_file:
        token = files.read_bounded(Path(user.token_file)).decode().strip()
    hosts = await observe_streams.integrated_hosts(clusters[0])
    return Credential(username="lading", password=token, only_to=hosts) if token else None


def _trash(
    options: PruneOptions, source: Source, registry: str, administration: AdministrationClient
) -> Trash | None:
    """ImageStreams need --trash, because the role of OpenShift's pruner may not push."""
    of_streams = source is Source.IMAGE_STREAMS
    prunes_registry = options.reading.settings.prune_registry
    if of_streams and not (options.trash and prunes_registry):
        return None
    default = f"{{project}}/{REPOSITORY_DEFAULT}" if of_streams else REPOSITORY_DEFAULT
    settings = TrashSettings(
        registry=registry,
        repository=options.trash_repository or default,
        period=options.trash_period,
    )
    return Trash(administration, settings)


def _state_file(options: PruneOptions, registry: str, name: str) -> StateFile | None:
    """One folder per registry: the same tag has another age in another registry."""
    folder = options.state_folder
    if folder is None:
        return None
    return LocalStateFile(folder / registry.replace("/", "_") / name, root=folder)


def _ledger_file(
    options: PruneOptions, source: Source, registry: str, trash: Trash | None
) -> StateFile | None:
    """ImageStreams need none in the registry: they record their own dates."""
    local = _state_file(options, registry, "ledger.json")
    if local is not None or trash is None or source is Source.IMAGE_STREAMS:
        return local
    if options.trash is False:
        return None
    place = Reference(
        registry=trash.settings.registry,
        repository=trash.settings.repository_for("lading"),
        tag=LEDGER_TAG,
    )
    return RegistryFile(trash.registry, place)


async def _known(file: StateFile | None) -> ManifestTable:
    """The manifests that earlier runs read. If the file is damaged, they are read again."""
    content = None if file is None else await file.read()
    if content is None:
        return ManifestTable()
    try:
        return ManifestTable.decoded(content)
    except UNREADABLE:
        return ManifestTable()


async def reference_files(
    paths: tuple[Path, ...], clock: SystemClock, *, age_max: timedelta
) -> tuple[ClusterReferences, ...]:
    found = []
    for path in paths:
        content = await asyncio.to_thread(files.read_bounded, path, bytes_max=REFERENCES_BYTES_MAX)
        found.append(
            references_file.decode(content, name=str(path), now=clock.now(), age_max=age_max)
        )
    return tuple(found)


async def write_references(
    client: KubeClient, file: Path, *, address: str, custom: tuple[CustomPath, ...]
) -> ClusterReferences:
    """Writes all pods, also finished ones: the run that reads the file applies its own settings."""
    reading = Reading(settings=Settings(prune_over_size_limit=True), custom=custom)
    cluster = KubeCluster(client, address=address)
    (found,) = await observe.of_clusters((cluster,), SystemClock(), reading)
    await LocalStateFile(file).replace(references_file.encode(found))
    return found


def _mirrors(paths: Iterable[Path]) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    for path in paths:
        if not path.is_dir():
            found += mirrors.pairs_of_registries_conf(_toml(path))
            continue
        for file in sorted(path.glob("*/hosts.toml")):
            found += mirrors.pairs_of_hosts_toml(file.parent.name, _toml(file))
    return tuple(found)


def _toml(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(files.read_bounded(path).decode())
    except ValueError as error:
        raise Malformed(what="TOML file", text=str(path), reason=str(error)) from error
