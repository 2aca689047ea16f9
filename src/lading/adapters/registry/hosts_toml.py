"""Mirrors and rules from containerd's `hosts.toml` folders, read again when a file changes.

A registry's folder is `host_port_`, `host:port` or `host`, then `_default`. One without the file
may hold certificates, in docker's layout. A file that cannot be read is reported, and the registry
is asked directly, as containerd does.
"""

import ssl
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
import yarl

from lading.adapters.registry import certificates, endpoints
from lading.adapters.registry.certificates import HostCertificates, Stamp
from lading.adapters.registry.endpoints import ALL_USES, DirectRouting, Endpoint, Use
from lading.kernel.references import Reference
from lading.kernel.values import replace

FILE_NAME = "hosts.toml"
FILE_BYTES_MAX = 1024 * 1024
_HTTP_PORT = 80


class _Rules(msgspec.Struct):
    """What a file may say about one base URL."""

    capabilities: list[str] = []
    ca: str | list[str] = []
    client: str | list[str | tuple[str, str]] = []
    skip_verify: bool = False
    override_path: bool = False
    header: dict[str, str | list[str]] = {}


class _File(_Rules):
    server: str = ""
    host: dict[str, _Rules] = {}


class _Place(msgspec.Struct, frozen=True, kw_only=True):
    url: yarl.URL | None
    """None for the usual one of the registry."""
    tls: ssl.SSLContext | bool
    uses: frozenset[Use] = ALL_USES
    headers: Mapping[str, str] = {}


class HostsFolders(msgspec.Struct, frozen=True):
    """Folders such as /etc/containerd/certs.d; the first that knows the registry decides."""

    folders: Sequence[Path]
    report: Callable[[str], None]
    host_root: Path = Path("/")
    """Where the host is mounted; the files name paths of the host."""
    _read_folders: dict[Path, tuple[Stamp, tuple[_Place, ...]]] = {}

    def endpoints(self, reference: Reference) -> tuple[Endpoint, ...]:
        host = endpoints.required_registry(reference)
        direct = DirectRouting().endpoints(reference)[0]
        folder = self._folder(host)
        if folder is None:
            return (direct,)
        return tuple(_endpoint(place, direct) for place in self._places(folder))

    def _folder(self, host: str) -> Path | None:
        name, colon, port = host.rpartition(":")
        names = ([f"{name}_{port}_"] if colon else []) + [host, "_default"]
        candidates = (folder / each for folder in self.folders for each in names)
        return next((folder for folder in candidates if folder.is_dir()), None)

    def _places(self, folder: Path) -> tuple[_Place, ...]:
        """The folder changes when a file in it is replaced; the file when it is written to."""
        now = certificates.stamp([folder, folder / FILE_NAME])
        known = self._read_folders.get(folder)
        if known is None or known[0] != now:
            known = self._read_folders[folder] = now, self._read(folder)
        return known[1]

    def _read(self, folder: Path) -> tuple[_Place, ...]:
        """Never empty; the last is the registry itself."""
        file = folder / FILE_NAME
        try:
            if file.is_file():
                return _places_in(file, self.host_root)
        except (OSError, ValueError, RecursionError) as error:
            self.report(f"{file}: {error}; the registry is asked directly")
        try:
            return (_Place(url=None, tls=certificates.in_folder(folder).context()),)
        except OSError as error:
            self.report(f"{folder}: its certificates cannot be used: {error}")
            return (_Place(url=None, tls=True),)


def _places_in(file: Path, host_root: Path) -> tuple[_Place, ...]:
    with file.open("rb") as opened:
        document = tomllib.loads(opened.read(FILE_BYTES_MAX).decode())
    rules = msgspec.convert(document, _File)

    def found(path: str) -> Path:
        """An absolute path is the host's; another is beside the file."""
        return host_root / path.lstrip("/") if path.startswith("/") else file.parent / path

    hosts = (_place(_url(text, each), each, found) for text, each in rules.host.items())
    server = _url(rules.server, rules) if rules.server else None
    return (*hosts, _place(server, rules, found))


def _url(text: str, rules: _Rules) -> yarl.URL:
    url = yarl.URL(text if "://" in text else f"https://{text}")
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError(f"{text!r} is not an http or https URL")
    path = url.path.rstrip("/")
    if not rules.override_path and not path.endswith("/v2"):
        path = f"{path}/v2"
    return url.with_path(path)


def _place(url: yarl.URL | None, rules: _Rules, found: Callable[[str], Path]) -> _Place:
    authorities = [rules.ca] if isinstance(rules.ca, str) else rules.ca
    clients = [rules.client] if isinstance(rules.client, str) else rules.client
    pairs = [(one, None) if isinstance(one, str) else one for one in clients]
    files = HostCertificates(
        authorities=[found(file) for file in authorities],
        clients=[(found(file), found(key) if key else None) for file, key in pairs],
    )
    return _Place(
        url=url,
        tls=files.context(skip_verify=rules.skip_verify),
        uses=frozenset(Use(name.lower()) for name in rules.capabilities) or ALL_USES,
        headers={
            name: values if isinstance(values, str) else ", ".join(values)
            for name, values in rules.header.items()
        },
    )


def _endpoint(place: _Place, direct: Endpoint) -> Endpoint:
    """The place for this repository; one on another host is a mirror, and gets the name `ns`."""
    if place.url is None:
        return _with_tls_first(replace(direct, tls=place.tls, headers=place.headers))
    host = place.url.host_port_subcomponent or ""
    is_mirror = host not in (direct.host, yarl.URL(direct.url).host_port_subcomponent)
    return _with_tls_first(
        Endpoint(
            url=str(place.url).rstrip("/"),
            host=host if is_mirror else direct.host,
            repository=direct.repository,
            is_mirror=is_mirror,
            tls=place.tls,
            uses=place.uses,
            headers=place.headers,
            query=(("ns", direct.host),) if is_mirror else (),
        )
    )


def _with_tls_first(endpoint: Endpoint) -> Endpoint:
    """Rules for TLS at an http URL mean to containerd that TLS is tried first, save on port 80."""
    url = yarl.URL(endpoint.url)
    if endpoint.tls is True or url.scheme == "https" or url.port == _HTTP_PORT:
        return endpoint
    encrypted = f"https://{endpoint.url.removeprefix('http://')}"
    return replace(endpoint, url=encrypted, may_be_plain_http=True)
