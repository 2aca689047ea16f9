"""Pulls for pods: one after another, again after a growing delay, with the right credential."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.embedded import sample_images
from lading.embedded.cri.core import EmbeddedRuntime
from lading.embedded.node import LINUX_AMD64
from lading.embedded.registry import server as registry_server
from lading.embedded.registry.access import Passwords
from lading.embedded.workloads.kinds import Pod
from lading.embedded.workloads.pods.pulls import Pulls
from lading.embedded.workloads.pods.types import PullPhase, PullRecord
from lading.kernel import references
from lading.ports.cri import ImageSpec
from lading.ports.registry import Credential, Registry
from tests.e2e import waiting
from tests.embedded.workloads.builders import pod

RIGHT = Credential(username="carol", password="right")
WRONG = Credential(username="carol", password="wrong")


@dataclass(slots=True, kw_only=True)
class World:
    """A node, and a registry that wants a password."""

    host: str
    registry: Registry
    runtime: EmbeddedRuntime
    credentials: tuple[Credential, ...] = (RIGHT,)
    events: list[tuple[str, str]] = field(default_factory=list)
    pulls: Pulls = field(init=False)

    def __post_init__(self) -> None:
        self.pulls = Pulls(
            runtime=self.runtime,
            credentials=self._credentials_of,
            clock=SystemClock(),
            record=lambda one, event: self.events.append((event.reason, event.because)),
            changed=lambda key: None,
        )

    async def _credentials_of(self, one: Pod, image: str) -> tuple[Credential, ...]:
        return self.credentials

    async def push(self, name: str) -> str:
        made = sample_images.image([{"file": name.encode()}])
        tag = references.parse(f"{self.host}/{name}:v1")
        await sample_images.push(self.registry, tag, made)
        return str(tag)

    async def ended(self, image: str) -> PullRecord:
        async def is_over() -> bool:
            return self.pulls.records("uid-p")[image].phase is not PullPhase.WAITING

        await waiting.until(is_over, f"the pull of {image} had ended")
        return self.pulls.records("uid-p")[image]

    def reasons(self) -> list[str]:
        return [reason for reason, _ in self.events]


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[World]:
    guard = Passwords({RIGHT.username: RIGHT.password})
    async with (
        registry_server.serve(folder / "registry", guard=guard) as url,
        registry_client.connect(SystemClock()) as client,
    ):
        runtime = EmbeddedRuntime(
            root=folder / "images", registry=client, clock=SystemClock(), platform=LINUX_AMD64
        )
        world = World(
            host=url.removeprefix("http://"),
            registry=client.with_credential(RIGHT),
            runtime=runtime,
        )
        running = asyncio.create_task(world.pulls.run())
        yield world
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        runtime.close()


async def test_images_come_in_the_order_in_which_they_were_asked_for(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        images = [await world.push(name) for name in ("first", "second")]
        for image in images:
            world.pulls.request(pod(), image)
            world.pulls.request(pod(), image)
        assert (await world.ended(images[1])).phase is PullPhase.DONE
        assert world.reasons() == ["Pulling", "Pulled", "Pulling", "Pulled"]
        assert world.events[0][1] == f'Pulling image "{images[0]}"'
        assert await world.runtime.image(ImageSpec(image=images[0])) is not None


async def test_each_credential_is_tried_in_turn(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        world.credentials = (WRONG, RIGHT)
        image = await world.push("private")
        world.pulls.request(pod(), image)
        assert (await world.ended(image)).phase is PullPhase.DONE


@pytest.mark.parametrize(
    ("image", "credentials", "words"),
    [
        pytest.param("HOST/absent:v1", (RIGHT,), "not found", id="no such image"),
        pytest.param("HOST/absent:v1", (WRONG,), "authorization failed", id="wrong password"),
        pytest.param("127.0.0.1:1/a:v1", (), "does not answer", id="no registry there"),
    ],
)
async def test_a_failure_names_its_cause(
    tmp_path: Path, image: str, credentials: tuple[Credential, ...], words: str
) -> None:
    async with opened(tmp_path) as world:
        world.credentials = credentials
        image = image.replace("HOST", world.host)
        world.pulls.request(pod(), image)
        record = await world.ended(image)
        assert record.phase is PullPhase.FAILED
        assert f'failed to pull and unpack image "{image}"' in record.message
        assert words in record.message
        assert world.reasons() == ["Pulling", "Failed"]


async def test_the_delay_doubles_with_each_failure(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        image = f"{world.host}/absent:v1"
        delays = []
        for _ in range(3):
            world.pulls.request(pod(), image)
            record = await world.ended(image)
            assert record.ended_at is not None
            assert record.retry_at is not None
            delays.append((record.retry_at - record.ended_at).total_seconds())
        assert delays == [10, 20, 40]


async def test_a_pod_that_is_gone_is_not_pulled_for(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        first, second = await world.push("a"), await world.push("b")
        world.pulls.request(pod("gone"), first)
        world.pulls.forget("uid-gone")
        world.pulls.request(pod(), second)
        await world.ended(second)
        assert await world.runtime.image(ImageSpec(image=first)) is None
