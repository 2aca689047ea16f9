"""The pull engine: what it hands to the runtime, and what its ledger says."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry

from lading.adapters.clock import VirtualClock
from lading.kernel.images import ImageKey
from lading.pinned_images.node.metrics import PinMetrics
from lading.pinned_images.node.pulls import PullEngine
from lading.pinned_images.node.types import PullErrorKind
from lading.ports.cri import ImageSpec
from lading.ports.registry import Credential
from tests.pinned_images.node.builders import key
from tests.pinned_images.node.whole_nodes import Runtime

SECRET = Credential(username="me", password="mine")
BROKEN = key("broken")


@dataclass
class AskingRuntime(Runtime):
    credentials: dict[str, Credential | None] = field(default_factory=dict)

    async def pull(self, spec: ImageSpec, credential: Credential | None = None) -> str:
        self.credentials[spec.image] = credential
        return await super().pull(spec, credential)


class Credentials:
    async def credential(self, image: str) -> Credential | None:
        if image == BROKEN.image:
            raise ValueError("the file of credentials has a line that nobody can read")
        return SECRET if image == key("private").image else None


async def nothing(key: ImageKey, spec: ImageSpec) -> None:
    """What else happens to a pulled image is no matter here."""


@dataclass
class Pulling:
    engine: PullEngine
    clock: VirtualClock

    def start(self, *keys: ImageKey) -> None:
        for one in keys:
            self.engine.start(one, ImageSpec(image=one.image), new_bytes=1)

    async def settle(self) -> None:
        await self.clock.advance(1)


@asynccontextmanager
async def pulling(runtime: Runtime) -> AsyncIterator[Pulling]:
    clock = VirtualClock()
    engine = PullEngine(
        cri=runtime,  # type: ignore[arg-type]  # the engine only pulls and looks
        credentials=Credentials(),
        clock=clock,
        metrics=PinMetrics(CollectorRegistry()),
        pulled=nothing,
        changed=lambda: None,
    )
    yield Pulling(engine, clock)
    await engine.close()


async def test_each_image_is_pulled_with_its_own_credential() -> None:
    runtime = AskingRuntime()
    async with pulling(runtime) as work:
        work.start(key("private"), key("public"))
        await work.settle()
    assert runtime.credentials == {key("private").image: SECRET, key("public").image: None}


async def test_a_credential_that_cannot_be_had_fails_its_image_only() -> None:
    """In OpenShift's daemon one malformed entry of the pull secret failed everything."""
    runtime = AskingRuntime()
    async with pulling(runtime) as work:
        work.start(BROKEN, key("public"))
        await work.settle()
        ledger = work.engine.snapshot()
    assert runtime.pulled == [key("public").image]
    fault = ledger[BROKEN].error
    assert fault is not None
    assert fault.kind is PullErrorKind.OTHER
    assert "a line that nobody can read" in fault.message


async def test_a_cancelled_pull_leaves_nothing_behind() -> None:
    runtime = Runtime()
    runtime.gate.clear()
    async with pulling(runtime) as work:
        work.start(key("a"))
        await work.settle()
        assert runtime.pulling_count == 1
        work.engine.cancel(key("a"))
        await work.settle()
        assert work.engine.snapshot() == {}
    assert runtime.pulling_count == 0
    assert runtime.pulled == []


async def test_a_pull_that_runs_is_not_started_again() -> None:
    runtime = Runtime()
    runtime.gate.clear()
    async with pulling(runtime) as work:
        work.start(key("a"))
        await work.settle()
        work.start(key("a"))
        await work.settle()
        assert work.engine.snapshot()[key("a")].attempts == 1
        assert runtime.pulling_count == 1


async def test_a_failed_pull_that_is_cancelled_is_forgotten() -> None:
    async with pulling(Runtime()) as work:
        work.start(BROKEN)
        await work.settle()
        work.engine.cancel(BROKEN)
        assert work.engine.snapshot() == {}


async def test_a_fault_stays_known_while_the_next_attempt_runs() -> None:
    async with pulling(Runtime()) as work:
        work.start(BROKEN)
        await work.settle()
        work.start(BROKEN)
        pull = work.engine.snapshot()[BROKEN]
        assert pull.running
        assert pull.attempts == 2
        assert pull.error is not None
        await asyncio.sleep(0)
