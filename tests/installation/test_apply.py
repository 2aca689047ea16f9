"""Installing kinds on API servers that answer as kube-apiserver does, soon, late or never."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import msgspec
import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.installation import apply
from lading.kernel.backoff import Backoff
from lading.ports.http import Exchange, Request, Response
from lading.servers.kube.authentication import ADMIN
from lading.servers.kube.core import Core
from lading.servers.kube.storage.memory import MemoryStorage
from lading.standalone.api_server import Authorized
from lading.wiring.features import DEFINITIONS

ONE = DEFINITIONS[:1]


@dataclass
class NotEstablishedYet:
    """A new definition has no condition at first: kube-apiserver sends null, not a list."""

    server: Exchange
    answers: int
    """So many answers are like that."""

    async def __call__(self, request: Request) -> Response:
        response = await self.server(request)
        if response.status >= 300 or self.answers == 0:
            return response
        self.answers -= 1
        assert isinstance(response.body, bytes)
        body = msgspec.json.decode(response.body)
        body["status"] = {"conditions": None, "storedVersions": None}
        return replace(response, body=msgspec.json.encode(body))


@pytest.fixture
async def server() -> AsyncIterator[Exchange]:
    core = Core(MemoryStorage(), SystemClock(), tokens={"token": ADMIN})
    yield Authorized(core, "token")
    await core.close()


async def test_a_definition_without_conditions_is_waited_for(server: Exchange) -> None:
    api = KubeClient(NotEstablishedYet(server, answers=3))
    fast = Backoff(seconds_min=0.001, seconds_max=0.01)
    found = await apply.install(api, SystemClock(), ONE, poll=fast)
    assert found.foreign == ()


async def test_a_definition_that_is_never_established_is_named(server: Exchange) -> None:
    api = KubeClient(NotEstablishedYet(server, answers=1000))
    fast = Backoff(seconds_min=0.001, seconds_max=0.01)
    with pytest.raises(apply.NotEstablished, match=f"{ONE[0].name} was not established within"):
        await apply.install(api, SystemClock(), ONE, established_seconds_max=0.05, poll=fast)
