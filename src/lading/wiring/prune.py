"""Opens what a run of the pruner needs: clusters, the registry, the trash, what is remembered."""

import asyncio
import os
import tomllib
from collections.abc import AsyncIterator, Iterator, Sequence
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
from lading.adapters.state_file import LocalStateFile
from lading.kernel.errors import UNREADABLE, Malformed
from lading.kernel.references import Reference
from lading.ports.cluster import Cluster
from lading.ports.registry import Credential
from lading.ports.state_file import StateFile
from lading.ports.storage import Storage
from lading.pruning.engine.controller import Pruner, PruneRequest
from lading.pruning.engine.decisions.guards import Limits
from lading.pruning.engine.decisions.policy import Policy
from lading.pruning.engine.inventory import observe_streams
from lading.pruning.engine.inventory.manifest_table import ManifestTable
from lading.pruning.engine.references import mirrors, observe, references_file
from lading.pruning.engine.references.custom_paths import CustomPath
from lading.pruning.engine.references.observe import ClusterReferences, Reading
from lading.pruning.engine.registry_url import RegistryUrl
from lading.pruning.engine.trash.registry_file import RegistryFile
from lading.pruning.engine.trash.trash import REPOSITORY_DEFAULT, Trash, TrashSettings
from lading.pruning.engine.types import Settings, Source
from lading.wiring.registries import report_problem

LEDGER_TAG = "ledger"
REFERENCES_BYTES_MAX = 512 * 1024 * 1024  # millions of pods


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line says."""

    connections: tuple[Connection, ...]
    reference_files: tuple[Path, ...]
    references_age_max: timedelta
    source: Source | None
    url: RegistryUrl | None
    certificate_authority: Path | None
    force_insecure: bool
    registry_names: tuple[str, ...]
    registries_conf: Path | None
    hosts_folder: Path | None
    storage_url: str
    """Empty for the API of the registry."""
    repositories: tuple[str, ...]
    reading: Reading
    policy: Policy
    limits: Limits
    trash_repository: str
    trash_period: timedelta
    trash_copy: bool
    no_trash: bool
    stream_trash: bool
    state_folder: Path | None
    workers: int


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    pruner: Pruner
    source: Source
    registry: str
    kube: KubeClient | None = None
    """Of the first cluster."""


class NothingToPrune(Exception):
    """No registry is known, or none may be changed: there is nothing that a run could do."""


@asynccontextmanager
async def open_pruner(options: Options) -> AsyncIterator[Opened]:
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
                trust=RegistryTrust(options.certificate_authority, insecure=options.force_insecure),
                cluster_token=await _cluster_token(options, source, clusters),
            )
        )
        trash = _trash(options, source, registry, administration)
        known_file = _state_file(options, registry, "manifests")
        known = await _known(known_file)
        yield Opened(
            source=source,
            registry=registry,
            kube=clients[0] if clients else None,
            pruner=Pruner(
                PruneRequest(
                    source=source,
                    registry=registry,
                    registry_names=(registry, *options.registry_names, *(hosts or ())),
                    mirrors=tuple(await asyncio.to_thread(lambda: [*_mirrors(options)])),
                    reading=options.reading,
                    policy=options.policy,
                    limits=options.limits,
                    repositories=options.repositories,
                    workers=options.workers,
                    fills_trash=not options.no_trash,
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


def _registry_name(options: Options, source: Source, hosts: tuple[str, ...]) -> str:
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


class RegistryTrust(msgspec.Struct, frozen=True):
    """How the certificate of the registry is verified."""

    authority: Path | None
    insecure: bool


@asynccontextmanager
async def open_administration(
    url: RegistryUrl,
    clock: SystemClock,
    *,
    trust: RegistryTrust,
    cluster_token: Credential | None = None,
) -> AsyncIterator[AdministrationClient]:
    """A client of the registry at this address, and of no mirror.

    It has the logins of this machine, and the token of a cluster only for ImageStreams.
    """
    async with registry_client.connect(
        clock,
        routing=OneRegistry(url, trust),
        credentials=_credentials(url.host, clock, cluster_token),
        environment=os.environ,
    ) as client:
        yield AdministrationClient(client)


def open_storage(url: str) -> Storage:
    """Imported only here: runs on the API of a registry need no obstore."""
    from lading.adapters.storage import object_storage

    return object_storage.open_storage(url, environment=os.environ)


class OneRegistry:
    """Connects to the one registry that is pruned; no mirror, no other host.

    HTTPS, and where that is not spoken HTTP, if the registry need not be verified and the address
    names no scheme: with --force-insecure, or on this machine.
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
    options: Options, source: Source, clusters: Sequence[Cluster]
) -> Credential | None:
    """As oc shows it to the registry of the cluster; it carries the only hosts that may get it."""
    if source is not Source.IMAGE_STREAMS or not clusters:
        return None
    user = options.connections[0].user
    token = user.token
    if user.token_file:
        token = files.read_bounded(Path(user.token_file)).decode().strip()
    hosts = await observe_streams.integrated_hosts(clusters[0])
    return Credential(username="lading", password=token, only_to=hosts) if token else None


def _trash(
    options: Options, source: Source, registry: str, administration: AdministrationClient
) -> Trash | None:
    """For ImageStreams only where it is asked for: the role of the pruner may not push."""
    of_streams = source is Source.IMAGE_STREAMS
    prunes_registry = options.reading.settings.prune_registry
    if of_streams and not (options.stream_trash and prunes_registry):
        return None
    default = f"{{project}}/{REPOSITORY_DEFAULT}" if of_streams else REPOSITORY_DEFAULT
    settings = TrashSettings(
        registry=registry,
        repository=options.trash_repository or default,
        period=options.trash_period,
        may_copy=options.trash_copy,
    )
    return Trash(administration, settings)


def _state_file(options: Options, registry: str, name: str) -> StateFile | None:
    """Each registry has its own: a tag of the same name elsewhere has another age."""
    folder = options.state_folder
    if folder is None:
        return None
    return LocalStateFile(folder / registry.replace("/", "_") / name, root=folder)


def _ledger_file(
    options: Options, source: Source, registry: str, trash: Trash | None
) -> StateFile | None:
    """ImageStreams have their own dates, and no project that is sure to exist."""
    local = _state_file(options, registry, "ledger.json")
    if local is not None or trash is None or options.no_trash or source is Source.IMAGE_STREAMS:
        return local
    place = Reference(
        registry=trash.settings.registry,
        repository=trash.settings.repository_for("lading"),
        tag=LEDGER_TAG,
    )
    return RegistryFile(trash.registry, place)


async def _known(file: StateFile | None) -> ManifestTable:
    """What the last run read; a file that cannot be read costs only time."""
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
    """Every pod counts: the run that reads the file decides by its own settings."""
    reading = Reading(settings=Settings(prune_over_size_limit=True), custom=custom)
    cluster = KubeCluster(client, address=address)
    (found,) = await observe.of_clusters((cluster,), SystemClock(), reading)
    await LocalStateFile(file).replace(references_file.encode(found))
    return found


def _mirrors(options: Options) -> Iterator[tuple[str, str]]:
    if options.registries_conf is not None:
        yield from mirrors.pairs_of_registries_conf(_toml(options.registries_conf))
    if options.hosts_folder is not None:
        for file in sorted(options.hosts_folder.glob("*/hosts.toml")):
            yield from mirrors.pairs_of_hosts_toml(file.parent.name, _toml(file))


def _toml(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(files.read_bounded(path).decode())
    except ValueError as error:
        raise Malformed(what="TOML file", text=str(path), reason=str(error)) from error
