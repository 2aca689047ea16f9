"""Credentials of a pod: its pull secrets first, then those of the node."""

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.api.core import SECRETS
from lading.servers.kube.authentication import ADMIN
from lading.servers.kube.core import Core
from lading.servers.kube.storage.memory import MemoryStorage
from lading.standalone.api_server import Authorized
from lading.wiring import pod_credentials
from lading.wiring.registries import open_registries

IMAGE = "r.example/app:1"


@pytest.fixture
async def api() -> AsyncIterator[KubeClient]:
    core = Core(MemoryStorage(), SystemClock(), tokens={"t": ADMIN})
    yield KubeClient(Authorized(core, "t"))
    await core.close()


def auths(user: str, host: str = "r.example") -> str:
    auth = base64.b64encode(f"{user}:secret".encode()).decode()
    return json.dumps({"auths": {host: {"auth": auth}}})


async def make_secret(api: KubeClient, name: str, content: str) -> None:
    data = {".dockerconfigjson": content}
    body = {
        "metadata": {"name": name},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": data,
    }
    await api.create(SECRETS, body, namespace="default")


async def users(api: KubeClient, home: Path, *secrets: str) -> list[str]:
    environment = {"HOME": str(home)}
    async with open_registries(
        SystemClock(), host_root=home, environment=environment
    ) as registries:
        found = await pod_credentials.find(
            api, registries, namespace="default", secrets=secrets, image=IMAGE
        )
    return [one.username for one in found]


async def test_the_secrets_come_in_their_order_and_then_the_node(
    api: KubeClient, tmp_path: Path
) -> None:
    (tmp_path / ".docker").mkdir()
    (tmp_path / ".docker" / "config.json").write_text(auths("node"))
    await make_secret(api, "one", auths("first"))
    await make_secret(api, "two", auths("second"))
    assert await users(api, tmp_path, "two", "one") == ["second", "first", "node"]


async def test_secrets_that_are_missing_or_for_another_registry_are_left_out(
    api: KubeClient, tmp_path: Path
) -> None:
    await make_secret(api, "other", auths("other", host="elsewhere.example"))
    await make_secret(api, "one", auths("first"))
    assert await users(api, tmp_path, "absent", "other", "one") == ["first"]


async def test_a_secret_keeps_its_order_whatever_a_registry_accepted_of_the_node(
    api: KubeClient, tmp_path: Path
) -> None:
    whole, narrow = (json.loads(auths(*one))["auths"] for one in (("b",), ("a", "r.example/app")))
    await make_secret(api, "one", json.dumps({"auths": {**whole, **narrow}}))
    (tmp_path / ".docker").mkdir()
    (tmp_path / ".docker" / "config.json").write_text(auths("b"))
    environment = {"HOME": str(tmp_path)}
    async with open_registries(
        SystemClock(), host_root=tmp_path, environment=environment
    ) as registries:
        own = await registries.credentials.credential(IMAGE)
        assert own is not None
        registries.credentials.accepted(IMAGE, own)
        found = await pod_credentials.find(
            api, registries, namespace="default", secrets=["one"], image=IMAGE
        )
    assert [one.username for one in found] == ["a", "b"]
