"""Runtime classes are looked up in the cluster, by name."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.api.node import RUNTIME_CLASSES
from lading.runtime_images import classes
from lading.runtime_images.errors import UnknownRuntimeClass
from lading.standalone import api_server


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[KubeClient]:
    async with api_server.serve(tmp_path / "api", SystemClock(), port=0) as api:
        client = KubeClient(api.exchange)
        body = {"metadata": {"name": "isolated"}, "handler": "kata-qemu"}
        await client.create(RUNTIME_CLASSES, body)
        yield client


async def test_the_handler_is_the_one_that_the_runtime_class_names(cluster: KubeClient) -> None:
    assert await classes.handler_of(cluster, "isolated") == "kata-qemu"


async def test_no_runtime_class_means_the_default_handler(cluster: KubeClient) -> None:
    assert await classes.handler_of(cluster, "") == ""


async def test_an_unknown_runtime_class_is_named_with_the_next_step(cluster: KubeClient) -> None:
    with pytest.raises(UnknownRuntimeClass, match=r"'kata'.*kubectl get runtimeclass"):
        await classes.handler_of(cluster, "kata")
