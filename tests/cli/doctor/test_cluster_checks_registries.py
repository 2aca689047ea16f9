"""Registries that answer to `lading doctor`, or do not."""

import socket

import msgspec
import pytest

from lading.adapters.kube.client import KubeClient
from lading.cli.doctor import cluster_checks
from lading.embedded import sample_sets
from lading.kernel import references
from lading.ports.http import Request, Response
from lading.wiring.clock import system_clock
from lading.wiring.registries import open_registries


async def test_a_registry_that_is_silent_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_checks, "ANSWER_SECONDS_MAX", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        host = f"127.0.0.1:{silent.getsockname()[1]}"
        image = references.parse(f"{host}/app@sha256:{'0' * 64}")
        async with open_registries(system_clock()) as opened:
            found = await cluster_checks.reached(opened.client, image)
    assert (found.result, found.found) == ("failed", f"{host} did not answer within 0 s.")
    assert "proxy" in found.next_step


def cluster_with(*images: str) -> KubeClient:
    """One set; a cluster without images does not know the kind."""

    async def exchange(request: Request) -> Response:
        body = {"metadata": {}, "items": [sample_sets.set_of("one", images)]} if images else {}
        headers = {"content-type": "application/json"}
        status = 200 if images else 404
        return Response(status=status, headers=headers, body=msgspec.json.encode(body))

    return KubeClient(exchange)


async def test_only_some_registries_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_checks, "REGISTRIES_MAX", 1)
    digest = f"sha256:{'0' * 64}"
    images = ("no Image", f"127.0.0.1:1/a@{digest}", f"127.0.0.1:1/b@{digest}", f"r.io/a@{digest}")
    found = [one async for one in cluster_checks.registries(cluster_with(*images))]
    assert [one.result for one in found] == ["failed", "skipped"]
    assert found[0].found.startswith("127.0.0.1:1: cannot connect")
    assert found[1].found == "1 more registries were not asked."


async def test_without_the_kind_there_is_no_registry_to_ask() -> None:
    (found,) = [one async for one in cluster_checks.registries(cluster_with())]
    assert (found.result, found.found) == ("skipped", "No PinnedImageSet names an image.")
