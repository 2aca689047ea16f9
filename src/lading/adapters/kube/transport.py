"""What the two ways to an API server share: their contract, their limits, who we say we are.

`aiohttp_transport` is for processes that run on; `stream_transport` is for a command, which has
ended before aiohttp would be loaded.
"""

import platform
from typing import Protocol

import lading
from lading.adapters.kube.credentials import Proof
from lading.ports.http import Request, Response

CONNECTIONS_MAX = 64
CONNECT_SECONDS_MAX = 10.0
REQUEST_SECONDS_MAX = 70.0
"""An API server ends a request after 60 s with an error; we wait for that answer."""
WATCH_IDLE_SECONDS_MAX = 150.0
"""An API server sends a bookmark about once a minute."""
USER_AGENT = f"lading/{lading.__version__} ({platform.system().lower()}/{platform.machine()})"
HEADERS = {"user-agent": USER_AGENT, "accept": "application/json"}
"""Of every request that does not bring its own."""


class KubeTransport(Protocol):
    async def send(self, request: Request, proof: Proof) -> Response:
        """Raises what `ports.kube` names; an answer of any status is an answer."""
        ...

    async def close(self) -> None: ...


def is_watch(request: Request) -> bool:
    return ("watch", "true") in request.query


def described(request: Request, server: str) -> str:
    return f"{request.method} {request.path} at {server}"
