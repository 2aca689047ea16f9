"""Registries as this machine is configured to reach them: mirrors, plain HTTP, credentials."""

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import structlog

from lading.adapters.registry import auth_files, client, node_credentials
from lading.adapters.registry.auth_files import AuthFile
from lading.adapters.registry.credentials import Chain, CredentialSource, Table
from lading.adapters.registry.endpoints import DirectRouting, Endpoint, Routing
from lading.adapters.registry.hosts_toml import HostsFolders
from lading.adapters.registry.registries_conf import FollowedRegistriesConf
from lading.kernel import references
from lading.kernel.references import Reference
from lading.kernel.values import replace
from lading.ports.clock import Clock
from lading.ports.registry import Credential, Registry, RegistryError

log = structlog.get_logger(__name__)

REGISTRIES_CONF = Path("etc/containers/registries.conf")
HOSTS_FOLDER = Path("etc/containerd/certs.d")


class Registries(msgspec.Struct, frozen=True, kw_only=True):
    client: Registry
    credentials: "ImageCredentials"


class CredentialPlugins(msgspec.Struct, frozen=True, kw_only=True):
    """The kubelet's credential providers, as its two flags name them."""

    config: Path
    folder: Path


class CredentialSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where credentials come from besides the auth files of the machine."""

    pull_secrets: Sequence[AuthFile] = ()
    pull_secret_folders: Sequence[Path] = ()
    plugins: CredentialPlugins | None = None


AUTH_FILES_ONLY = CredentialSettings()


def credentials_of(auth_file: Path | None) -> CredentialSettings:
    """Those of one more auth file, as it is now."""
    if auth_file is None:
        return AUTH_FILES_ONLY
    return CredentialSettings(pull_secrets=(auth_files.read(auth_file),))


@asynccontextmanager
async def open_registries(
    clock: Clock,
    *,
    host_root: Path = Path("/"),
    environment: Mapping[str, str] = os.environ,
    settings: CredentialSettings = AUTH_FILES_ONLY,
) -> AsyncIterator[Registries]:
    routing = HostRouting(host_root)
    paths = node_credentials.auth_file_paths(environment, host_root)
    source = Chain(
        (
            *(Table(secret.credential_by_pattern) for secret in settings.pull_secrets),
            node_credentials.from_pull_secrets(settings.pull_secret_folders, clock, report_problem),
            node_credentials.from_auth_files(paths, clock, report_problem),
            *_from_plugins(settings.plugins, clock),
        )
    )
    async with client.connect(
        clock, routing=routing, credentials=source, environment=environment
    ) as registry:
        credentials = ImageCredentials(source=source, routing=routing)
        yield Registries(client=registry, credentials=credentials)


def _from_plugins(plugins: CredentialPlugins | None, clock: Clock) -> tuple[CredentialSource, ...]:
    if plugins is None:
        return ()
    provided = node_credentials.from_providers(
        plugins.config, folder=plugins.folder, clock=clock, report=report_problem
    )
    return (provided,)


class HostRouting:
    """What the host's runtime goes by now: containerd's folders if there are any, else the file.

    Without entries the file routes every registry directly.
    """

    def __init__(self, host_root: Path) -> None:
        self._hosts_folder = host_root / HOSTS_FOLDER
        self._hosts = HostsFolders((self._hosts_folder,), report_problem, host_root)
        self._conf = FollowedRegistriesConf(host_root / REGISTRIES_CONF, report_problem)

    def endpoints(self, reference: Reference) -> tuple[Endpoint, ...]:
        routing: Routing = self._hosts if self._hosts_folder.is_dir() else self._conf
        return routing.endpoints(reference)


class ImageCredentials(msgspec.Struct, frozen=True, kw_only=True):
    """The machine's credentials as far as the runtime may have them with a pull.

    Each is limited to the registry itself. Those of a mirror are the runtime's own business: CRI-O
    would show them to the registry.
    """

    source: CredentialSource
    routing: Routing

    _accepted: dict[str, Credential] = {}
    """By the address of the server."""

    async def credentials(self, image: str) -> tuple[Credential, ...]:
        found = [
            replace(one, server_address=endpoint.server_address)
            for endpoint in self._endpoints(image)
            for one in await self.source.find(endpoint)
        ]
        distinct = dict.fromkeys(found)
        return tuple(sorted(distinct, key=lambda one: one not in self._accepted.values()))

    async def credential(self, image: str) -> Credential | None:
        """The one to try first; None is anonymous."""
        return next(iter(await self.credentials(image)), None)

    def accepted(self, image: str, credential: Credential) -> None:
        self._accepted[credential.server_address] = credential

    def refused(self, image: str, credential: Credential) -> None:
        if self._accepted.get(credential.server_address) == credential:
            del self._accepted[credential.server_address]
        for endpoint in self._endpoints(image):
            self.source.forget(endpoint)

    def limited(self, credential: Credential, image: str) -> Credential:
        """A credential that a person gave for the image, for its registry alone."""
        address = self._endpoints(image)[0].server_address
        return replace(credential, server_address=address)

    def _endpoints(self, image: str) -> tuple[Endpoint, ...]:
        """Those of the registry itself, which the configuration may have replaced by mirrors."""
        reference = references.parse(image)
        try:
            configured = self.routing.endpoints(reference)
        except RegistryError as error:  # the runtime has its own routing, and may succeed
            report_problem(f"{image}: {error}")
            configured = ()
        own = tuple(endpoint for endpoint in configured if not endpoint.is_mirror)
        return own or DirectRouting().endpoints(reference)


def report_problem(problem: str) -> None:
    log.warning("registry configuration", problem=problem)
