"""Mirrors and rules from containerd's `hosts.toml` folders, read again when a file changes.

A registry's folder is `host_port_`, `host:port` or `host`, then `_default`. A file that cannot be
read is reported and the registry is asked directly, as containerd does.
"""

import ssl
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import yarl

from lading.adapters.registry import endpoints
from lading.adapters.registry.endpoints import ALL_USES, DirectRouting, Endpoint, Use
from lading.kernel.references import Reference

FILE_NAME = "hosts.toml"
FILE_BYTES_MAX = 1024 * 1024


class _Rules(msgspec.Struct):
    """What a file may say about one base URL."""

    capabilities: frozenset[Use] = ALL_USES
    ca: str | list[str] = []
    client: str | list[str | list[str]] = []
    skip_verify: bool = False
    override_path: bool = False
    header: dict[str, str | list[str]] = {}


class _File(_Rules):
    server: str = ""
    host: dict[str, _Rules] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    url: yarl.URL
    tls: ssl.SSLContext | bool
    uses: frozenset[Use]
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Places:
    """The places of a file in their order; `server` is None for the registry's usual one."""

    hosts: tuple[_Place, ...]
    server: _Place | None


@dataclass(frozen=True, slots=True)
class HostsFolders:
    """Folders such as /etc/containerd/certs.d; the first that knows the registry decides."""

    folders: Sequence[Path]
    report: Callable[[str], None]
    _read_files: dict[tuple[Path, int], _Places | None] = field(default_factory=dict)

    def endpoints(self, reference: Reference) -> tuple[Endpoint, ...]:
        host = endpoints.required_registry(reference)
        direct = DirectRouting().endpoints(reference)[0]
        file = self._file(host)
        places = None if file is None else self._places(file)
        if places is None:
            return (direct,)
        server = direct if places.server is None else _endpoint(places.server, direct)
        return (*(_endpoint(place, direct) for place in places.hosts), server)

    def _file(self, host: str) -> Path | None:
        name, colon, port = host.rpartition(":")
        names = ([f"{name}_{port}_"] if colon else []) + [host, "_default"]
        candidates = (folder / each / FILE_NAME for folder in self.folders for each in names)
        return next((file for file in candidates if file.is_file()), None)

    def _places(self, file: Path) -> _Places | None:
        key = (file, file.stat().st_mtime_ns)
        if key not in self._read_files:
            for stale in [known for known in self._read_files if known[0] == file]:
                del self._read_files[stale]
            self._read_files[key] = self._read(file)
        return self._read_files[key]

    def _read(self, file: Path) -> _Places | None:
        try:
            with file.open("rb") as opened:
                document = tomllib.loads(opened.read(FILE_BYTES_MAX).decode())
            rules = msgspec.convert(document, _File)
            hosts = tuple(_place(url, each, file.parent) for url, each in rules.host.items())
            server = _place(rules.server, rules, file.parent) if rules.server else None
        except (OSError, ValueError, RecursionError) as error:
            self.report(f"{file}: {error}; the registry is asked directly")
            return None
        return _Places(hosts=hosts, server=server)


def _place(text: str, rules: _Rules, folder: Path) -> _Place:
    url = yarl.URL(text if "://" in text else f"https://{text}")
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError(f"{text!r} is not an http or https URL")
    path = url.path.rstrip("/")
    if not rules.override_path and not path.endswith("/v2"):
        path = f"{path}/v2"
    return _Place(
        url=url.with_path(path),
        tls=_tls(rules, folder),
        uses=rules.capabilities,
        headers={
            name: values if isinstance(values, str) else ", ".join(values)
            for name, values in rules.header.items()
        },
    )


def _tls(rules: _Rules, folder: Path) -> ssl.SSLContext | bool:
    """A context only where the file says something: the default one is shared and quicker."""
    if not rules.ca and not rules.client:
        return not rules.skip_verify
    context = ssl.create_default_context()
    for authority in [rules.ca] if isinstance(rules.ca, str) else rules.ca:
        context.load_verify_locations(folder / authority)
    for pair in [rules.client] if isinstance(rules.client, str) else rules.client:
        certificate, *key = [pair] if isinstance(pair, str) else pair
        context.load_cert_chain(folder / certificate, folder / key[0] if key else None)
    if rules.skip_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _endpoint(place: _Place, direct: Endpoint) -> Endpoint:
    """The place for this repository; one on another host is a mirror, and told whose it is."""
    host = place.url.host_port_subcomponent or ""
    is_mirror = host not in (direct.host, yarl.URL(direct.url).host_port_subcomponent)
    return Endpoint(
        url=str(place.url).rstrip("/"),
        host=host if is_mirror else direct.host,
        repository=direct.repository,
        is_mirror=is_mirror,
        tls=place.tls,
        uses=place.uses,
        headers=place.headers,
        query=(("ns", direct.host),) if is_mirror else (),
    )
