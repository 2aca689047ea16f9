"""The embedded API server: on a data folder with TLS and a kubeconfig, or in memory."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import msgspec
import yaml

from lading.embedded import data_folder
from lading.embedded.kube import certificates, http
from lading.embedded.kube.authentication import ADMIN
from lading.embedded.kube.core import Core
from lading.embedded.kube.node_proxy import NO_KUBELETS, Kubelets
from lading.embedded.kube.storage import sqlite
from lading.embedded.kube.storage.memory import MemoryStorage
from lading.kernel.values import Redacted, replace
from lading.ports.clock import Clock
from lading.ports.http import HttpTransport, Request, Response


class ApiServer(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    kubeconfig: Path
    exchange: HttpTransport
    """For clients in this process, with the rights of an administrator."""


class Authorized(Redacted, frozen=True):
    """Sends a token with every request."""

    exchange: HttpTransport
    token: str

    async def __call__(self, request: Request) -> Response:
        headers = {**request.headers, "authorization": f"Bearer {self.token}"}
        return await self.exchange(replace(request, headers=headers))


@asynccontextmanager
async def serve(
    data: Path, clock: Clock, *, kubelets: Kubelets = NO_KUBELETS
) -> AsyncIterator[ApiServer]:
    data_folder.prepare(data)
    token = data_folder.secret(data / "admin-token")
    pki = certificates.ensure(data / "pki")
    kubeconfig = data / "kubeconfig"
    with closing(sqlite.open(data / "api.sqlite")) as storage:
        core = Core(storage, clock, tokens={token: ADMIN}, kubelets=kubelets)
        try:
            async with http.serve(core, tls=pki) as url:
                data_folder.write_private(kubeconfig, _kubeconfig(url, pki.authority, token))
                yield ApiServer(url=url, kubeconfig=kubeconfig, exchange=Authorized(core, token))
        finally:
            await core.close()


@asynccontextmanager
async def open_in_memory(clock: Clock) -> AsyncIterator[HttpTransport]:
    """A server without a socket and without files."""
    token = secrets.token_urlsafe()
    core = Core(MemoryStorage(), clock, tokens={token: ADMIN})
    try:
        yield Authorized(core, token)
    finally:
        await core.close()


def _kubeconfig(url: str, ca_file: Path, token: str) -> str:
    name = "lading"
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": name, "cluster": {"server": url, "certificate-authority": str(ca_file)}}
            ],
            "users": [{"name": name, "user": {"token": token}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "current-context": name,
        },
        sort_keys=False,
    )
