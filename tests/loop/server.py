"""The embedded API server in this process, in virtual time, with the namespaces of the tests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lading.adapters.kube.client import KubeClient
from lading.api.core import NAMESPACES
from lading.embedded.kube import authentication
from lading.embedded.kube.core import Core
from lading.embedded.kube.storage.memory import MemoryStorage
from lading.kernel.values import replace
from lading.ports.clock import Clock
from lading.ports.http import Request, Response

TOKEN = "a token of the tests"


class ApiServer:
    """An exchange; every request is the administrator's."""

    def __init__(self, clock: Clock) -> None:
        self._storage = MemoryStorage()
        self._core = Core(self._storage, clock, tokens={TOKEN: authentication.ADMIN})

    async def __call__(self, request: Request) -> Response:
        headers = {**request.headers, "authorization": f"Bearer {TOKEN}"}
        return await self._core(replace(request, headers=headers))

    @property
    def revision(self) -> int:
        return self._storage.revision

    def compact(self) -> None:
        """Forgets the history: a watch can only start from the present."""
        self._storage.compact(self._storage.revision)

    async def close(self) -> None:
        await self._core.close()


@asynccontextmanager
async def serving(clock: Clock) -> AsyncIterator[ApiServer]:
    server = ApiServer(clock)
    try:
        for name in ("images", "lading"):
            await create_namespace(server, name)
        yield server
    finally:
        await server.close()


async def create_namespace(server: ApiServer, name: str) -> None:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    await KubeClient(server).create(NAMESPACES, body)
