"""The credentials that a machine has: auth files, their helpers, the kubelet's plugins."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from lading.adapters.registry import auth_files, credential_providers
from lading.adapters.registry.credential_helpers import HelperSource
from lading.adapters.registry.credential_providers import ProviderSource
from lading.adapters.registry.credentials import Chain, CredentialSource, Table
from lading.ports.clock import Clock

KUBELET_AUTH_FILE = Path("/var/lib/kubelet/config.json")


def auth_file_paths(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Where docker, podman and the kubelet look, in the order of who is asked first."""
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
        KUBELET_AUTH_FILE,
    )


def from_auth_files(
    paths: Sequence[Path], clock: Clock, report: Callable[[str], None]
) -> CredentialSource:
    sources: list[CredentialSource] = []
    for path in paths:
        file = auth_files.read(path)
        for problem in file.problems:
            report(problem)
        sources += [HelperSource(file, clock, report), Table(file.credential_by_pattern)]
    return Chain(sources)


def from_providers(
    config: Path, *, folder: Path, clock: Clock, report: Callable[[str], None]
) -> CredentialSource:
    """The plugins that the kubelet is given with its two image credential provider flags."""
    parsed = credential_providers.parse(config.read_bytes(), name=str(config), folder=folder)
    for problem in parsed.problems:
        report(problem)
    return Chain([ProviderSource(provider, clock, report) for provider in parsed.providers])
