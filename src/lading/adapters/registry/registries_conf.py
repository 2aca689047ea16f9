"""Mirrors and rules from `registries.conf` version 2, the file of CRI-O, podman and skopeo.

The entry with the longest prefix decides; it may move the image to another location, put mirrors
before it, allow an unverified or plain connection, or forbid the registry. A malformed entry only
disables itself and is reported. Certificates are those in `certs.d` beside the file. Short names
are not resolved here.
"""

import tomllib
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from lading.adapters.registry import certificates, endpoints
from lading.adapters.registry.certificates import CertificateFolders, Stamp
from lading.adapters.registry.endpoints import DirectRouting, Endpoint
from lading.kernel import references
from lading.kernel.errors import Malformed
from lading.kernel.references import Reference
from lading.kernel.values import replace
from lading.ports import registry

FILE_BYTES_MAX = 1024 * 1024
CERTIFICATES_FOLDER = "certs.d"


class PullFromMirror(StrEnum):
    ALL = "all"
    DIGEST_ONLY = "digest-only"
    TAG_ONLY = "tag-only"


class Mirror(msgspec.Struct, frozen=True, rename="kebab"):
    location: str
    insecure: bool = False
    pull_from_mirror: PullFromMirror = PullFromMirror.ALL

    def serves(self, reference: Reference) -> bool:
        by_digest = reference.digest is not None
        wanted = PullFromMirror.DIGEST_ONLY if by_digest else PullFromMirror.TAG_ONLY
        return self.pull_from_mirror in (PullFromMirror.ALL, wanted)


class RegistryEntry(msgspec.Struct, frozen=True, rename="kebab"):
    """One `[[registry]]` table."""

    prefix: str = ""
    location: str = ""
    insecure: bool = False
    blocked: bool = False
    mirror_by_digest_only: bool = False
    mirrors: tuple[Mirror, ...] = msgspec.field(name="mirror", default=())

    @property
    def key(self) -> str:
        return self.prefix or self.location

    def matched_characters(self, reference: Reference) -> int:
        """How much of `host/repository` the prefix covers; 0 when it does not fit."""
        name = reference.name
        if self.key.startswith("*."):
            host, _, _ = name.partition("/")
            return len(host) if host.endswith(self.key[1:]) else 0
        fits = name.startswith(f"{self.key}/") or self.key in _whole_names(reference)
        return min(len(self.key), len(name)) if fits else 0

    def mirrors_for(self, reference: Reference) -> tuple[Mirror, ...]:
        if self.mirror_by_digest_only and reference.digest is None:
            return ()
        return tuple(mirror for mirror in self.mirrors if mirror.serves(reference))


def _whole_names(reference: Reference) -> tuple[str, ...]:
    """A prefix may also be one repository, one tag of it, or one digest."""
    tag, digest = f"{reference.name}:{reference.tag}", f"{reference.name}@{reference.digest}"
    return reference.name, tag, digest


class RegistriesConf(msgspec.Struct, frozen=True):
    entries: tuple[RegistryEntry, ...]
    certificates: CertificateFolders
    report: Callable[[str], None]

    def endpoints(self, reference: Reference) -> tuple[Endpoint, ...]:
        endpoints.required_registry(reference)
        return tuple(self._usable(self._endpoints(reference)))

    def _usable(self, found: Iterable[Endpoint]) -> Iterable[Endpoint]:
        """A mirror with bad certificates is passed over, as the runtime does."""
        for endpoint in found:
            try:
                yield self._trusting(endpoint)
            except registry.Untrusted as error:
                if not endpoint.is_mirror:
                    raise
                self.report(f"mirror {endpoint.host} is not asked: {error}")

    def _endpoints(self, reference: Reference) -> tuple[Endpoint, ...]:
        entry = self._entry(reference)
        if entry is None:
            return DirectRouting().endpoints(reference)
        if entry.blocked:
            message = f"{reference}: registries.conf blocks the prefix {entry.key}"
            raise registry.Blocked(message)
        rest = reference.name[entry.matched_characters(reference) :]
        moved = f"{entry.location}{rest}" if entry.location else reference.name
        return (
            *(
                _endpoint(f"{mirror.location}{rest}", insecure=mirror.insecure, is_mirror=True)
                for mirror in entry.mirrors_for(reference)
            ),
            _endpoint(moved, insecure=entry.insecure, is_mirror=False),
        )

    def _entry(self, reference: Reference) -> RegistryEntry | None:
        """The most specific entry; a wildcard is less than any prefix without one."""
        fitting = [entry for entry in self.entries if entry.matched_characters(reference)]
        return max(fitting, key=_specificity, default=None)

    def _trusting(self, endpoint: Endpoint) -> Endpoint:
        if endpoint.tls is not True:
            return endpoint
        try:
            return replace(endpoint, tls=self.certificates.context(endpoint.host))
        except OSError as error:
            message = f"the certificates for {endpoint.host} cannot be used: {error}"
            raise registry.Untrusted(message) from error


def _specificity(entry: RegistryEntry) -> tuple[bool, int]:
    return not entry.key.startswith("*."), len(entry.key)


def load(files: Sequence[Path], report: Callable[[str], None]) -> RegistriesConf:
    """Reads the files in order; an entry of a later one replaces that of an earlier one."""
    entry_by_key: dict[str, RegistryEntry] = {}
    for file in files:
        for entry in _read(file, report):
            entry_by_key[entry.key] = entry
    folders = CertificateFolders(files[0].with_name(CERTIFICATES_FOLDER))
    return RegistriesConf(tuple(entry_by_key.values()), folders, report)


class FollowedRegistriesConf:
    """The file and its drop-ins as they are now; there may be none yet."""

    def __init__(self, main: Path, report: Callable[[str], None]) -> None:
        self._main = main
        self._report = report
        self._read: tuple[tuple[Path, ...], Stamp, RegistriesConf] | None = None

    def endpoints(self, reference: Reference) -> tuple[Endpoint, ...]:
        files = files_of(self._main)
        stamp = certificates.stamp(files)
        if self._read is None or self._read[:2] != (files, stamp):
            self._read = files, stamp, load(files, self._report)
        return self._read[2].endpoints(reference)


def files_of(main: Path) -> tuple[Path, ...]:
    """The main file, then its drop-ins in the order of their names."""
    return (main, *sorted(main.with_name(f"{main.name}.d").glob("*.conf")))


def _read(file: Path, report: Callable[[str], None]) -> Iterable[RegistryEntry]:
    try:
        with file.open("rb") as opened:
            document = tomllib.loads(opened.read(FILE_BYTES_MAX).decode())
    except FileNotFoundError:
        return
    except (OSError, ValueError, RecursionError) as error:
        report(f"{file}: {error}; ignored")
        return
    tables: Any = document.get("registry", [])
    if not isinstance(tables, list):
        report(f"{file}: expected [[registry]] tables (version 2); ignored")
        return
    for position, table in enumerate(tables):
        try:
            yield _checked(msgspec.convert(table, RegistryEntry))
        except (msgspec.ValidationError, Malformed) as error:
            report(f"{file}: registry[{position}]: {error}; ignored")


def _checked(entry: RegistryEntry) -> RegistryEntry:
    if not entry.key:
        raise Malformed(what="registry", text="", reason="it needs 'prefix' or 'location'")
    locations = [entry.location, *(mirror.location for mirror in entry.mirrors)]
    for location in filter(None, locations):
        references.parse(f"{location}/a")
    return entry


def _endpoint(name: str, *, insecure: bool, is_mirror: bool) -> Endpoint:
    host, _, repository = name.partition("/")
    return endpoints.endpoint_at(host, repository, insecure=insecure, is_mirror=is_mirror)
