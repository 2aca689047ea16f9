"""The embedded registry on its data folder, at the same port at every start.

The objects of the cluster name their images by it: at another port none could be pulled again.
So it moves only with `--registry-port`, and then names the objects that it leaves behind.
"""

import base64
import contextlib
import re
import secrets
import socket
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import msgspec

from lading.adapters.kube.client import KubeClient
from lading.api.imageregistry import IMAGE_PRUNERS
from lading.api.longhorn import IMAGES
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.files import write_atomically
from lading.kernel.objects import Resource
from lading.kernel.values import replace
from lading.servers.registry.core import DEFAULT_LIMITS
from lading.servers.registry.usage import StoreLimits
from lading.standalone import data_folder
from lading.wiring import embedded

USER = "lading"
FIRST_PORTS = range(20_000, 30_000)
"""Below those that systems assign to connections, so that a port is free at the next start, too."""
_DRAWS_MAX = 100
_NAMING_IMAGES: tuple[Resource[Any], ...] = (PINNED_IMAGE_SETS, IMAGES, IMAGE_PRUNERS)


class RegistryPortTaken(Exception):
    """Another process listens where the registry was at the last start."""

    def __init__(self, port: int) -> None:
        super().__init__(
            f"the port {port} of the registry is used by another process; stop that process"
            f" (`ss -ltnp 'sport = :{port}'` shows it), or set --registry-port PORT. Image names"
            " contain the port: after a change, `lading up` lists the objects to correct"
        )


class RegistrySettings(msgspec.Struct, frozen=True, kw_only=True):
    port: int = 0
    """0 is that of the last start, or a free one."""
    names: tuple[str, ...] = ()
    """By which clients reach it besides its address."""
    limits: StoreLimits = DEFAULT_LIMITS
    with_password: bool = False
    """For a machine that several people share."""


class EmbeddedRegistry(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    auth_file: Path | None
    """The password in docker's form, for nodes and people; None where none is needed."""
    former_hosts: tuple[str, ...] = ()
    """Where it was at earlier starts."""

    @property
    def host(self) -> str:
        return self.url.removeprefix("http://")


@contextlib.asynccontextmanager
async def serve(data: Path, settings: RegistrySettings) -> AsyncIterator[EmbeddedRegistry]:
    note = data / "registry-port"
    last = _last_port(note)
    password = data_folder.secret(data / "registry-password") if settings.with_password else ""
    async with embedded.open_registry(
        data / "registry",
        port=settings.port or _kept(last),
        names=settings.names,
        limits=settings.limits,
        password_by_user={USER: password} if password else {},
    ) as url:
        host, _, port = url.removeprefix("http://").rpartition(":")
        write_atomically(note, port.encode())
        auth_file = data / "registry-auth.json" if password else None
        if auth_file:
            named = (url.removeprefix("http://"), *(f"{name}:{port}" for name in settings.names))
            data_folder.write_private(auth_file, _auth_file(named, password))
        former = _former_ports(data / "registry-former-ports", last=last, now=int(port))
        hosts = tuple(f"{host}:{one}" for one in former)
        yield EmbeddedRegistry(url=url, auth_file=auth_file, former_hosts=hosts)


async def left_behind(kube: KubeClient, host: str) -> tuple[str, ...]:
    """The objects that name images by an address where the registry was."""
    # In an image or in a URL, and not as the beginning of a longer port.
    named = re.compile(f'("|//){re.escape(host)}(?![0-9])'.encode())
    return tuple(
        [
            f"{resource.kind.lower()}/{one['metadata']['name']}"
            for resource in _NAMING_IMAGES
            async for one in kube.each(replace(resource, type=dict[str, Any]))
            if named.search(msgspec.json.encode(one["spec"]))
        ]
    )


def _auth_file(hosts: Iterable[str], password: str) -> str:
    auth = base64.b64encode(f"{USER}:{password}".encode()).decode()
    return msgspec.json.encode({"auths": {host: {"auth": auth} for host in hosts}}).decode()


def _last_port(note: Path) -> int:
    """0 where there was no start before."""
    text = note.read_bytes().strip() if note.exists() else b""
    return int(text) if text.isdigit() else 0


def _former_ports(note: Path, *, last: int, now: int) -> tuple[int, ...]:
    """Kept for good: an object may name any of them until it is changed."""
    words = note.read_text(errors="replace").split() if note.exists() else []
    known = {*(int(word) for word in words if word.isdigit()), *([last] if last else [])}
    former = tuple(sorted(known - {now}))
    if former:
        write_atomically(note, " ".join(map(str, sorted(known))).encode())
    return former


def _kept(last: int) -> int:
    if not last:
        drawn = secrets.SystemRandom().sample(FIRST_PORTS, _DRAWS_MAX)
        return next((port for port in drawn if _is_free(port)), 0)
    if not _is_free(last):
        raise RegistryPortTaken(last)
    return last


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
