"""`lading pin wait` ends with 0, 1 or 124, and says why."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.embedded import api_server, sample_sets
from lading.installation import apply as installation
from lading.wiring.features import DEFINITIONS
from tests.command import CommandResult, lading

IMAGE = f"example.com/app@sha256:{'0' * 64}"


@dataclass(frozen=True)
class ApiUnderTest:
    kube: KubeClient
    kubeconfig: Path

    async def make_set(self, name: str = "s") -> None:
        await self.kube.create(PINNED_IMAGE_SETS, sample_sets.set_of(name, [IMAGE]))

    async def report(self, type_: str, status: str, reason: str, message: str, **more: Any) -> None:
        condition = {
            "type": type_,
            "status": status,
            "reason": reason,
            "message": message,
            "observedGeneration": 1,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        body = {"status": {"conditions": [condition], **more}}
        await self.kube.patch(PINNED_IMAGE_SETS, "s", body, subresource="status")

    async def wait(self, *words: str) -> CommandResult:
        return await lading("pin", "wait", *words, f"--kubeconfig={self.kubeconfig}")


@pytest.fixture
async def served_api(tmp_path: Path) -> AsyncIterator[ApiUnderTest]:
    async with api_server.serve(tmp_path / "api", SystemClock()) as api:
        kube = KubeClient(api.exchange)
        await installation.install(kube, SystemClock(), DEFINITIONS)
        yield ApiUnderTest(kube, api.kubeconfig)


async def test_wait_ends_with_0_when_the_set_becomes_ready(
    served_api: ApiUnderTest,
) -> None:
    await served_api.make_set()
    waiting = asyncio.create_task(served_api.wait("s", "--timeout", "60s"))
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(asyncio.shield(waiting), 1.5)
    assert not waiting.done()
    await served_api.report("Ready", "True", "AsExpected", "Ready on 3 of 3 nodes")
    result = await waiting
    assert (result.code, result.output) == (0, "pinnedimageset/s is ready\n")


async def test_wait_ends_with_1_and_the_reasons(served_api: ApiUnderTest) -> None:
    await served_api.make_set()
    failures = [{"node": "n", "message": "there was no room"}]
    await served_api.report("Degraded", "True", "NodesDegraded", "1 node", failures=failures)
    result = await served_api.wait("--timeout", "60s")
    assert result.code == 1
    assert "s: n: there was no room" in result.errors


async def test_wait_ends_with_124_when_the_time_is_over(
    served_api: ApiUnderTest,
) -> None:
    await served_api.make_set()
    await served_api.report("Ready", "False", "InProgress", "Ready on 1 of 3 nodes")
    result = await served_api.wait("s", "--timeout", "100ms")
    assert result.code == 124
    assert "Error: not done after 0.1s; s: Ready on 1 of 3 nodes\n" in result.errors


async def test_a_set_that_does_not_exist_is_not_waited_for(served_api: ApiUnderTest) -> None:
    result = await served_api.wait("other", "--timeout", "60s")
    assert result.code == 1
    assert "other: there is no PinnedImageSet of this name" in result.errors
    assert (await served_api.wait()).code == 1
