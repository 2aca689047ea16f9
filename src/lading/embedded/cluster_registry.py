"""The embedded registry on its data folder, at the same port at every start.

The names of images contain the port: at another port no node could pull them. The registry moves
only with `--registry-port`, and `left_behind` then lists the objects that name its old address.
"""

import base64
import contextlib
import re
import secrets
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec

from lading.adapters.kube.client import KubeClient
from lading.api.imageregistry import IMAGE_PRUNERS
from lading.api.longhorn import IMAGES
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.embedded import data_folder
from lading.embedded.registry import server as registry_server
from lading.embedded.registry.access import Passwords
from lading.files import write_atomically
from lading.kernel.objects import Resource
from lading.kernel.values import replace

USER = "lading"
FIRST_PORTS = range(20_000, 30_000)
"""Below the ports that systems assign to connections, so that the port stays free."""
_DRAWS_MAX = 100
_NAMING_IMAGES: tuple[Resource[Any], ...] = (PINNED_IMAGE_SETS, IMAGES, IMAGE_PRUNERS)


class RegistryPortTaken(Exception):
    """Another process listens at the port of the last start."""

    def __init__(self, port: int) -> None:
        super().__init__(
            f"the port {port} of the registry is used by another process; stop that process"
            f" (`ss -ltnp 'sport = :{port}'` shows it), or set --registry-port PORT. Image names"
            " contain the port: after a change, `lading up` lists the objects to correct"
        )


class RegistrySettings(msgspec.Struct, frozen=True, kw_only=True):
    port: int = 0
    """0 takes the port of the last start, or a free one."""
    with_password: bool = False
    """For a machine with several users."""


class EmbeddedRegistry(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    auth_file: Path | None
    """The password in docker's form; None if the registry has none."""
    former_hosts: tuple[str, ...] = ()
    """Its addresses at earlier starts."""

    @property
    def host(self) -> str:
        return self.url.removeprefix("http://")


@contextlib.asynccontextmanager
async def serve(data: Path, settings: RegistrySettings) -> AsyncIterator[EmbeddedRegistry]:
    note = data / "registry-port"
    last = _last_port(note)
    password = data_folder.secret(data / "registry-password") if settings.with_password else ""
    async with registry_server.serve(
        data / "registry",
        port=settings.port or _kept(last),
        guard=Passwords({USER: password}) if password else None,
    ) as url:
        host, _, port = url.removeprefix("http://").rpartition(":")
        write_atomically(note, port.encode())
        auth_file = data / "registry-auth.json" if password else None
        if auth_file:
            data_folder.write_private(auth_file, _auth_file(f"{host}:{port}", password))
        former = _former_ports(data / "registry-former-ports", last=last, now=int(port))
        hosts = tuple(f"{host}:{one}" for one in former)
        yield EmbeddedRegistry(url=url, auth_file=auth_file, former_hosts=hosts)


async def left_behind(kube: KubeClient, host: str) -> tuple[str, ...]:
    """The objects that name images at an old address of the registry."""
    # The address begins an image or follows a URL scheme, and its port ends there.
    named = re.compile(f'("|//){re.escape(host)}(?![0-9])'.encode())
    return tuple(
        [
            f"{resource.kind.lower()}/{one['metadata']['name']}"
            for resource in _NAMING_IMAGES
            async for one in kube.each(replace(resource, type=dict[str, Any]))
            if named.search(msgspec.json.encode(one["spec"]))
        ]
    )


def _auth_file(host: str, password: str) -> str:
    auth = base64.b64encode(f"{USER}:{password}".encode()).decode()
    return msgspec.json.encode({"auths": {host: {"auth": auth}}}).decode()


def _last_port(note: Path) -> int:
    """0 if there was no start before."""
    text = note.read_bytes().strip() if note.exists() else b""
    return int(text) if text.isdigit() else 0


def _former_ports(note: Path, *, last: int, now: int) -> tuple[int, ...]:
    """All other ports that it ever had: an object may still name any of them."""
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
