"""The servers that the suite runs on.

`direct` is the embedded server in memory and in the same process. With CONFORMANCE_TARGET=http the
suite runs on the embedded server over TLS with SQLite, and with CONFORMANCE_KUBECONFIG=FILE on that
cluster (`real`); CONFORMANCE_ETCD=URL lets it compact the history there.
"""

import contextlib
import os
import secrets
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from lading.adapters.clock import SystemClock
from lading.adapters.kube import kubeconfig
from lading.adapters.kube.connection import Connection, Trust, User
from lading.adapters.kube.transport import NetworkTransport
from lading.embedded.kube import authentication, certificates, http
from lading.embedded.kube.core import Core
from lading.embedded.kube.storage import memory, sqlite
from lading.embedded.kube.storage.memory import MemoryStorage
from lading.kernel.values import replace
from lading.ports.http import HttpTransport, Request, Response

KUBECONFIG_VARIABLE = "CONFORMANCE_KUBECONFIG"
ETCD_VARIABLE = "CONFORMANCE_ETCD"
TARGET_VARIABLE = "CONFORMANCE_TARGET"
_TOKEN = secrets.token_urlsafe()
Compact = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One server, seen by an administrator, without a token and with a wrong one."""

    name: str
    exchange: HttpTransport
    anonymous: HttpTransport
    mistaken: HttpTransport
    compact: Compact | None
    """Forgets the history up to a revision; None where that is out of reach."""


def names(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    if environment.get(KUBECONFIG_VARIABLE):
        return ("real",)
    return (environment.get(TARGET_VARIABLE, "direct"),)


@contextlib.asynccontextmanager
async def opened(name: str) -> AsyncIterator[Target]:
    async with _OPENERS[name]() as target:
        yield target


@contextlib.asynccontextmanager
async def _real() -> AsyncIterator[Target]:
    file = Path(os.environ[KUBECONFIG_VARIABLE])
    etcd = os.environ.get(ETCD_VARIABLE)
    connection = kubeconfig.load([file]).connection()
    compact = _etcd_compaction(etcd) if etcd else None
    async with _network(connection, name="real", compact=compact) as target:
        yield target


@contextlib.asynccontextmanager
async def _network(
    connection: Connection, *, name: str, compact: Compact | None
) -> AsyncIterator[Target]:
    clock = SystemClock()
    anonymous = replace(connection, user=User())
    mistaken = replace(connection, user=User(token="not-a-token"))
    async with (
        NetworkTransport(connection, clock) as exchange,
        NetworkTransport(anonymous, clock) as anonymous_exchange,
        NetworkTransport(mistaken, clock) as mistaken_exchange,
    ):
        yield Target(
            name=name,
            exchange=exchange,
            anonymous=anonymous_exchange,
            mistaken=mistaken_exchange,
            compact=compact,
        )


def _etcd_compaction(url: str) -> Compact:
    async def compact(revision: str) -> None:
        body = {"revision": revision, "physical": True}
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{url}/v3/kv/compaction", json=body) as response,
        ):
            assert response.status == 200, await response.text()

    return compact


@contextlib.asynccontextmanager
async def _direct() -> AsyncIterator[Target]:
    storage = memory.MemoryStorage()
    async with _core(storage) as core:
        yield Target(
            name="direct",
            exchange=_Bearing(core, _TOKEN),
            anonymous=core,
            mistaken=_Bearing(core, "not-a-token"),
            compact=_storage_compaction(storage),
        )


@contextlib.asynccontextmanager
async def _http() -> AsyncIterator[Target]:
    with tempfile.TemporaryDirectory() as folder:
        storage = sqlite.open(Path(folder) / "kube.db")
        found = certificates.ensure(Path(folder))
        async with _core(storage) as core, http.serve(core, tls=found) as url:
            connection = Connection(
                server=url,
                trust=Trust(authority_pem=found.authority.read_text()),
                user=User(token=_TOKEN),
            )
            compact = _storage_compaction(storage)
            async with _network(connection, name="http", compact=compact) as target:
                yield target


@contextlib.asynccontextmanager
async def _core(storage: MemoryStorage) -> AsyncIterator[Core]:
    core = Core(storage, SystemClock(), tokens={_TOKEN: authentication.ADMIN})
    try:
        yield core
    finally:
        await core.close()
        storage.close()


class _Bearing:
    """Sends a token along, as a network exchange does."""

    def __init__(self, exchange: HttpTransport, token: str) -> None:
        self._exchange = exchange
        self._headers = {"authorization": f"Bearer {token}"}

    async def __call__(self, request: Request) -> Response:
        return await self._exchange(replace(request, headers={**request.headers, **self._headers}))


def _storage_compaction(storage: MemoryStorage) -> Compact:
    async def compact(revision: str) -> None:
        storage.compact(int(revision))

    return compact


_OPENERS = {"real": _real, "direct": _direct, "http": _http}
