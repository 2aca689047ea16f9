"""The credentials that a machine has: auth files, mounted pull secrets, the kubelet's plugins.

A file that was changed is read again by itself: secrets are rotated while we run.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from lading import files
from lading.adapters.registry import auth_files, credential_providers, pull_secrets
from lading.adapters.registry.auth_files import AuthFile
from lading.adapters.registry.credential_helpers import HelperSource
from lading.adapters.registry.credential_providers import ProviderSource
from lading.adapters.registry.credentials import Anonymous, Chain, CredentialSource, Table
from lading.adapters.registry.endpoints import Endpoint
from lading.ports.clock import Clock
from lading.ports.registry import Credential

KUBELET_AUTH_FILE = Path("var/lib/kubelet/config.json")
_UNREADABLE = (-1, -1, -1)
_CONFIG_SUFFIXES = frozenset({".json", ".yaml", ".yml"})


def auth_file_paths(environment: Mapping[str, str], host_root: Path) -> tuple[Path, ...]:
    """Where docker, podman and the host's kubelet look, in the order of who is asked first."""
    home = Path(environment.get("HOME", "/"))
    docker_folder = Path(environment.get("DOCKER_CONFIG") or home / ".docker")
    named = [environment.get("REGISTRY_AUTH_FILE", "")]
    runtime_folder = environment.get("XDG_RUNTIME_DIR")
    if runtime_folder:
        named.append(f"{runtime_folder}/containers/auth.json")
    return (
        *(Path(path) for path in named if path),
        home / ".config" / "containers" / "auth.json",
        docker_folder / "config.json",
        host_root / KUBELET_AUTH_FILE,
    )


class AuthFileSource:
    """One auth file and the helpers that it names."""

    def __init__(
        self,
        path: Path,
        clock: Clock,
        report: Callable[[str], None],
        read: Callable[[Path], AuthFile] = auth_files.read,
    ) -> None:
        self._path = path
        self._read = read
        self._clock = clock
        self._report = report
        self._stamp: tuple[int, int, int] | None = None
        self._source: CredentialSource = Anonymous()
        self._current()  # so that a problem is reported at the start

    async def find(self, endpoint: Endpoint) -> tuple[Credential, ...]:
        return await self._current().find(endpoint)

    def forget(self, endpoint: Endpoint) -> bool:
        return self._source.forget(endpoint)

    def _current(self) -> CredentialSource:
        stamp = _stamp(self._path)
        if stamp != self._stamp:
            self._stamp, self._source = stamp, self._reread()
        return self._source

    def _reread(self) -> CredentialSource:
        file = self._read(self._path)
        for problem in file.problems:
            self._report(problem)
        helpers = HelperSource(file, self._clock, self._report)
        return Chain((helpers, Table(file.credential_by_pattern)))


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """What differs once a file was written or replaced; None while it is not there."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    except OSError:
        return _UNREADABLE
    return found.st_ino, found.st_size, found.st_mtime_ns


def from_auth_files(
    paths: Sequence[Path], clock: Clock, report: Callable[[str], None]
) -> CredentialSource:
    return Chain([AuthFileSource(path, clock, report) for path in paths])


def from_pull_secrets(
    folders: Sequence[Path], clock: Clock, report: Callable[[str], None]
) -> CredentialSource:
    """Secrets that are mounted into folders, one in each."""
    paths = [path for folder in folders for path in pull_secrets.paths_in(folder)]
    return Chain([AuthFileSource(path, clock, report, pull_secrets.read) for path in paths])


def from_providers(
    config: Path, *, folder: Path, clock: Clock, report: Callable[[str], None]
) -> CredentialSource:
    """The plugins that the kubelet is given with its two image credential provider flags."""
    configs = [
        credential_providers.parse(files.read_bounded(path), name=str(path), folder=folder)
        for path in _provider_configs(config)
    ]
    for problem in (problem for one in configs for problem in one.problems):
        report(problem)
    providers = [provider for one in configs for provider in one.providers]
    return Chain([ProviderSource(provider, clock, report) for provider in providers])


def _provider_configs(config: Path) -> list[Path]:
    """The file that was named, or those of a folder, as the kubelet takes them."""
    if not config.is_dir():
        return [config]
    return sorted(path for path in config.iterdir() if path.suffix in _CONFIG_SUFFIXES)
