"""Whom to trust and who to be: TLS contexts from files, and from folders in docker's layout.

In such a folder `*.crt` are authorities, and `NAME.cert` with `NAME.key` is who we are.
"""

import ssl
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

Stamp = tuple[int, ...]


class HostCertificates(msgspec.Struct, frozen=True, kw_only=True):
    authorities: Sequence[Path] = ()
    clients: Sequence[tuple[Path, Path | None]] = ()
    """Certificate and key; no key means that one file has both."""

    def context(self, *, skip_verify: bool = False) -> ssl.SSLContext | bool:
        """A context only where there is something: the default one is shared and quicker."""
        if not self.authorities and not self.clients:
            return not skip_verify
        context = ssl.create_default_context()
        for authority in self.authorities:
            context.load_verify_locations(authority)
        for certificate, key in self.clients:
            context.load_cert_chain(certificate, key)
        if skip_verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


def in_folder(folder: Path) -> HostCertificates:
    return HostCertificates(
        authorities=sorted(folder.glob("*.crt")),
        clients=[(file, file.with_suffix(".key")) for file in sorted(folder.glob("*.cert"))],
    )


def stamp(paths: Iterable[Path]) -> Stamp:
    """What differs once one of them was replaced or written; 0 for one that is not there."""
    return tuple(number for path in paths for number in _stamp(path))


def _stamp(path: Path) -> Stamp:
    try:
        found = path.stat()
    except OSError:
        return (0,)
    return found.st_ino, found.st_size, found.st_mtime_ns


class CertificateFolders(msgspec.Struct, frozen=True):
    """Folders of a folder, each named after a registry, such as /etc/containers/certs.d."""

    root: Path
    _contexts: dict[Path, tuple[Stamp, ssl.SSLContext | bool]] = {}

    def context(self, host: str) -> ssl.SSLContext | bool:
        """Read again when the folder changes; raises OSError when a file cannot be used."""
        folder = self.root / host
        if not folder.is_dir():
            return True
        now = stamp([folder])
        known = self._contexts.get(folder)
        if known is None or known[0] != now:
            known = self._contexts[folder] = now, in_folder(folder).context()
        return known[1]
