"""The servers that the suite runs on.

`direct` and `http` are the embedded server, in the same process and over TLS. With
CONFORMANCE_KUBECONFIG=FILE the suite runs on that cluster instead, and is called `real`;
CONFORMANCE_ETCD=URL lets it compact the history there.
"""

import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import aiohttp

from lading.adapters.clock import SystemClock
from lading.adapters.kube import kubeconfig
from lading.adapters.kube.connection import Connection, User
from lading.adapters.kube.exchange import NetworkExchange
from lading.ports.http import Exchange

KUBECONFIG_VARIABLE = "CONFORMANCE_KUBECONFIG"
ETCD_VARIABLE = "CONFORMANCE_ETCD"
Compact = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One server, seen by an administrator, by nobody in particular and by somebody false."""

    name: str
    exchange: Exchange
    anonymous: Exchange
    mistaken: Exchange
    compact: Compact | None
    """Forgets the history up to a revision; None where that is out of reach."""


def names(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    return ("real",) if environment.get(KUBECONFIG_VARIABLE) else ("direct", "http")


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
    nobody = replace(connection, user=User())
    mistaken = replace(connection, user=User(token="not-a-token"))
    async with (
        NetworkExchange(connection, clock) as exchange,
        NetworkExchange(nobody, clock) as anonymous_exchange,
        NetworkExchange(mistaken, clock) as mistaken_exchange,
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


_OPENERS = {"real": _real}
