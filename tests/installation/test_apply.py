"""Installing kinds on API servers that answer as kube-apiserver does, soon, late or never."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.api.apiextensions import CUSTOM_RESOURCE_DEFINITIONS
from lading.api.definitions import OWNER_LABEL
from lading.embedded.api_server import Authorized
from lading.embedded.kube.authentication import ADMIN
from lading.embedded.kube.core import Core
from lading.embedded.kube.storage.memory import MemoryStorage
from lading.installation import apply
from lading.kernel.backoff import Backoff
from lading.kernel.values import replace
from lading.ports.http import HttpTransport, Request, Response
from lading.ports.kube import PatchType
from lading.wiring.features import DEFINITIONS

ONE = DEFINITIONS[:1]


@dataclass
class NotEstablishedYet:
    """A new definition has no condition at first: kube-apiserver sends null, not a list."""

    server: HttpTransport
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
async def server() -> AsyncIterator[HttpTransport]:
    core = Core(MemoryStorage(), SystemClock(), tokens={"token": ADMIN})
    yield Authorized(core, "token")
    await core.close()


async def test_a_definition_without_conditions_is_waited_for(server: HttpTransport) -> None:
    api = KubeClient(NotEstablishedYet(server, answers=3))
    fast = Backoff(seconds_min=0.001, seconds_max=0.01)
    found = await apply.install(api, SystemClock(), ONE, poll=fast)
    assert found.foreign == ()


@dataclass
class InstalledMeanwhile:
    """Another owner creates a definition just before ours is applied."""

    server: HttpTransport
    manifest: dict[str, Any]
    times: int = 1

    async def __call__(self, request: Request) -> Response:
        if request.method == "PATCH" and self.times:
            self.times -= 1
            await KubeClient(self.server).create(CUSTOM_RESOURCE_DEFINITIONS, self.manifest)
        return await self.server(request)


@pytest.mark.parametrize("step", [1, -1], ids=["first", "after another"])
async def test_a_definition_that_another_owner_installs_meanwhile_is_not_replaced(
    server: HttpTransport, step: int
) -> None:
    foreign = ONE[0].manifest()
    foreign["metadata"]["labels"] = {OWNER_LABEL: "machine-config-operator"}
    foreign["spec"]["names"]["shortNames"] = ["theirs"]
    found = await apply.install(
        KubeClient(InstalledMeanwhile(server, foreign)), SystemClock(), DEFINITIONS[:2][::step]
    )
    assert found.outcomes == {DEFINITIONS[1].name: apply.InstallationOutcome.INSTALLED}
    assert len(found.foreign) == 1
    client = KubeClient(server)
    kept = await client.get(CUSTOM_RESOURCE_DEFINITIONS, ONE[0].name)
    assert kept.metadata.labels == {OWNER_LABEL: "machine-config-operator"}
    await client.get(CUSTOM_RESOURCE_DEFINITIONS, DEFINITIONS[1].name)


async def test_our_definition_is_upgraded_although_another_writer_changed_it(
    server: HttpTransport,
) -> None:
    client = KubeClient(server)
    await apply.install(client, SystemClock(), ONE)
    edit = {"spec": {"names": {"categories": ["theirs"]}}}
    await client.patch(CUSTOM_RESOURCE_DEFINITIONS, ONE[0].name, edit, patch_type=PatchType.MERGE)
    found = await apply.install(client, SystemClock(), ONE)
    assert found.outcomes == {ONE[0].name: apply.InstallationOutcome.UPDATED}


async def outcome(api: KubeClient) -> apply.InstallationOutcome:
    (found,) = (await apply.install(api, SystemClock(), ONE)).outcomes.values()
    return found


async def test_each_definition_is_installed_then_unchanged_and_updated_if_it_differs(
    server: HttpTransport,
) -> None:
    api, name = KubeClient(server), ONE[0].name
    assert await outcome(api) is apply.InstallationOutcome.INSTALLED
    assert await outcome(api) is apply.InstallationOutcome.UNCHANGED
    older = {"spec": {"names": {"shortNames": ["old"]}}}
    await api.patch(CUSTOM_RESOURCE_DEFINITIONS, name, older)
    assert await outcome(api) is apply.InstallationOutcome.UPDATED


async def test_another_installer_of_the_same_definition_changes_nothing(
    server: HttpTransport,
) -> None:
    """kubectl or Helm had applied it; then only the field managers differ."""
    api, manifest = KubeClient(server), ONE[0].manifest()
    await api.apply(CUSTOM_RESOURCE_DEFINITIONS, manifest, field_manager="helm", force=True)
    assert await outcome(api) is apply.InstallationOutcome.UNCHANGED


async def test_a_definition_that_is_never_established_is_named(server: HttpTransport) -> None:
    api = KubeClient(NotEstablishedYet(server, answers=1000))
    fast = Backoff(seconds_min=0.001, seconds_max=0.01)
    with pytest.raises(apply.NotEstablished, match=f"{ONE[0].name} was not established within"):
        await apply.install(api, SystemClock(), ONE, established_seconds_max=0.05, poll=fast)
