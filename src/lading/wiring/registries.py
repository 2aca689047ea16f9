"""Registries as this machine is configured to reach them: mirrors, plain HTTP, credentials.

Credentials of a pod or of a command may also be in pull secrets of the cluster.
"""

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import structlog

from lading.adapters.kube.client import KubeClient
from lading.adapters.registry import auth_files, client, node_credentials
from lading.adapters.registry import pull_secrets as pull_secret_files
from lading.adapters.registry.auth_files import AuthFile
from lading.adapters.registry.credentials import Chain, CredentialSource, Table
from lading.adapters.registry.endpoints import DirectRouting, Endpoint, Routing
from lading.adapters.registry.hosts_toml import HostsFolders
from lading.adapters.registry.registries_conf import FollowedRegistriesConf
from lading.api.core import SECRETS
from lading.kernel import references
from lading.kernel.errors import Malformed
from lading.kernel.objects import Key
from lading.kernel.references import Reference
from lading.kernel.values import replace
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.kube import Kube
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
    """Reads the auth file once."""
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
    """The current routing of the host's runtime: containerd's folders if they exist, else the file.

    A missing or empty file means that every registry is reached directly.
    """

    def __init__(self, host_root: Path) -> None:
        self._hosts_folder = host_root / HOSTS_FOLDER
        self._hosts = HostsFolders((self._hosts_folder,), report_problem, host_root)
        self._conf = FollowedRegistriesConf(host_root / REGISTRIES_CONF, report_problem)

    def endpoints(self, reference: Reference) -> tuple[Endpoint, ...]:
        routing: Routing = self._hosts if self._hosts_folder.is_dir() else self._conf
        return routing.endpoints(reference)


class ImageCredentials(msgspec.Struct, frozen=True, kw_only=True):
    """The credentials that the runtime gets with a pull: those of the registry itself.

    Credentials of a mirror belong into the runtime's configuration: CRI-O would send them to the
    registry.
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
        """The credential to try first; None means anonymous."""
        return next(iter(await self.credentials(image)), None)

    def accepted(self, image: str, credential: Credential) -> None:
        self._accepted[credential.server_address] = credential

    def refused(self, image: str, credential: Credential) -> None:
        if self._accepted.get(credential.server_address) == credential:
            del self._accepted[credential.server_address]
        for endpoint in self._endpoints(image):
            self.source.forget(endpoint)

    def limited(self, credential: Credential, image: str) -> Credential:
        """Limits a credential that a user gave for the image to the registry of the image."""
        address = self._endpoints(image)[0].server_address
        return replace(credential, server_address=address)

    def _endpoints(self, image: str) -> tuple[Endpoint, ...]:
        """The endpoints of the registry itself, even if the configuration has only mirrors."""
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


class UnusablePullSecret(Exception):
    """A named Secret does not exist, or has no readable credential."""


async def named_pull_secrets(api: KubeClient, keys: Sequence[Key]) -> list[AuthFile]:
    """Reads the pull secrets that a user names, with the rights of that user."""
    return [await _pull_secret(api, key) for key in keys]


async def _pull_secret(api: KubeClient, key: Key) -> AuthFile:
    try:
        secret = await api.get(SECRETS, key.name, namespace=key.namespace)
    except kube.NotFound as error:
        raise UnusablePullSecret(f"pull secret {key} does not exist") from error
    file = pull_secret_files.parse(secret.data, name=f"secret {key}")
    if file.problems and not file.credential_by_pattern:
        raise UnusablePullSecret("; ".join(file.problems))
    return file


async def pod_credentials(
    api: Kube, registries: Registries, *, namespace: str, secrets: Sequence[str], image: str
) -> tuple[Credential, ...]:
    """Those of the pull secrets of a pod, then those of the node.

    Ignores a Secret that is missing or unreadable, as a kubelet does.
    """
    found: list[Credential] = []
    for name in secrets:
        found += await _of_secret(api, registries, namespace, name, image)
    try:
        own = await registries.credentials.credential(image)
    except Malformed:
        return tuple(found)
    return (*found, *([own] if own else []))


async def _of_secret(
    api: Kube, registries: Registries, namespace: str, name: str, image: str
) -> list[Credential]:
    try:
        secret = await api.get(SECRETS, name, namespace=namespace)
    except kube.KubeError as error:
        log.warning("pull secret was not read", secret=f"{namespace}/{name}", error=str(error))
        return []
    file = pull_secret_files.parse(secret.data, name=f"secret {namespace}/{name}")
    for problem in file.problems:
        log.warning("pull secret", problem=problem)
    source = ImageCredentials(
        source=Table(file.credential_by_pattern), routing=registries.credentials.routing
    )
    credential = await source.credential(image)
    return [] if credential is None else [credential]
