"""Pull secrets of a cluster: what they say reaches the registry, and a useless one is refused."""

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.api.core import SECRETS
from lading.kernel import references
from lading.kernel.objects import Key
from lading.ports import registry
from lading.servers.registry import server as registry_server
from lading.servers.registry.access import Passwords
from lading.standalone import api_server
from lading.wiring import cluster_pull_secrets
from lading.wiring.cluster_pull_secrets import UnusablePullSecret
from lading.wiring.registries import CredentialSettings, open_registries

PULL = Key("default", "pull")


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[KubeClient]:
    async with api_server.serve(tmp_path / "api", SystemClock(), port=0) as api:
        yield KubeClient(api.exchange)


async def make_secret(client: KubeClient, secret_type: str, data: dict[str, object]) -> None:
    encoded = {key: base64.b64encode(json.dumps(data[key]).encode()).decode() for key in data}
    body = {"metadata": {"name": PULL.name}, "type": secret_type, "data": encoded}
    await client.create(SECRETS, body, namespace=PULL.namespace)


async def test_the_registry_is_shown_what_the_secret_says(
    client: KubeClient, tmp_path: Path
) -> None:
    guard = Passwords({"carol": "right"})
    async with registry_server.serve(tmp_path / "registry", guard=guard) as url:
        host = url.removeprefix("http://")
        entries = {host: {"username": "carol", "password": "right"}}
        await make_secret(client, "kubernetes.io/dockercfg", {".dockercfg": entries})
        settings = CredentialSettings(pull_secrets=await cluster_pull_secrets.read(client, [PULL]))
        async with open_registries(SystemClock(), environment={}, settings=settings) as known:
            with pytest.raises(registry.NotFound):
                await known.client.manifest(references.parse(f"{host}/absent:1"))
        async with open_registries(SystemClock(), environment={}) as unknown:
            with pytest.raises(registry.Unauthorized):
                await unknown.client.manifest(references.parse(f"{host}/absent:1"))


async def test_a_secret_of_another_kind_is_refused_by_name(client: KubeClient) -> None:
    await make_secret(client, "Opaque", {"password": "x"})
    with pytest.raises(UnusablePullSecret, match="secret default/pull: not a pull secret"):
        await cluster_pull_secrets.read(client, [PULL])


async def test_a_secret_that_does_not_exist_is_reported(client: KubeClient) -> None:
    with pytest.raises(UnusablePullSecret, match="pull secret default/pull does not exist"):
        await cluster_pull_secrets.read(client, [PULL])
