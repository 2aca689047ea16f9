"""The embedded registry on its data folder, at the same port at every start if that is free.

The objects of the cluster name their images by it: at another port none could be pulled again.
"""

import base64
import contextlib
import socket
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import structlog

from lading.files import write_atomically
from lading.servers.registry.core import DEFAULT_LIMITS
from lading.servers.registry.usage import StoreLimits
from lading.standalone import data_folder
from lading.wiring import embedded

USER = "lading"

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrySettings:
    port: int = 0
    """0 is that of the last start, or a free one."""
    names: tuple[str, ...] = ()
    """By which clients reach it besides its address."""
    limits: StoreLimits = DEFAULT_LIMITS
    with_password: bool = False
    """For a machine that several people share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedRegistry:
    url: str
    auth_file: Path | None
    """The password in docker's form, for nodes and people; None where none is needed."""

    @property
    def host(self) -> str:
        return self.url.removeprefix("http://")


@contextlib.asynccontextmanager
async def serve(data: Path, settings: RegistrySettings) -> AsyncIterator[EmbeddedRegistry]:
    note = data / "registry-port"
    password = data_folder.secret(data / "registry-password") if settings.with_password else ""
    async with embedded.open_registry(
        data / "registry",
        port=settings.port or _last_port(note),
        names=settings.names,
        limits=settings.limits,
        password_by_user={USER: password} if password else {},
    ) as url:
        port = url.rpartition(":")[2]
        write_atomically(note, port.encode())
        auth_file = data / "registry-auth.json" if password else None
        if auth_file:
            hosts = (url.removeprefix("http://"), *(f"{name}:{port}" for name in settings.names))
            data_folder.write_private(auth_file, _auth_file(hosts, password))
        yield EmbeddedRegistry(url=url, auth_file=auth_file)


def _auth_file(hosts: Iterable[str], password: str) -> str:
    auth = base64.b64encode(f"{USER}:{password}".encode()).decode()
    return msgspec.json.encode({"auths": {host: {"auth": auth} for host in hosts}}).decode()


def _last_port(note: Path) -> int:
    text = note.read_bytes().strip() if note.exists() else b""
    port = int(text) if text.isdigit() else 0
    if _is_free(port):
        return port
    log.warning("another process uses the registry's port; the registry has a new one", port=port)
    return 0


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
