"""The pull engine: what it asks the runtime for, what its ledger has, and when a pull counts."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest
import structlog
from prometheus_client import CollectorRegistry

from lading.adapters.clock import VirtualClock
from lading.adapters.registry.credentials import Chain, Table
from lading.adapters.registry.endpoints import DirectRouting, Endpoint
from lading.kernel import digests, texts
from lading.kernel.images import ImageKey
from lading.kernel.manifests import Descriptor
from lading.kernel.references import Reference
from lading.kernel.values import replace
from lading.pinned_images.node import rules
from lading.pinned_images.node.metrics import PinMetrics
from lading.pinned_images.node.pulls import (
    CREDENTIALS_SECONDS,
    DISK_SECONDS,
    PROGRESS_BYTES_MIN,
    PullEngine,
)
from lading.pinned_images.node.types import Desired, PinSettings, PullErrorKind
from lading.ports import cri
from lading.ports.cri import Image, ImageSpec
from lading.ports.node import PullCredentials
from lading.ports.registry import Credential, Transient
from lading.wiring.registries import ImageCredentials
from tests.pinned_images.node import whole_nodes
from tests.pinned_images.node.builders import image_set, key
from tests.pinned_images.node.whole_nodes import Anonymous, Runtime

SECRET = Credential(username="me", password="mine")
NODE = Desired(node_name="node-1", sets=())
BROKEN = key("broken")


@dataclass
class AskingRuntime(Runtime):
    credentials: dict[str, Credential | None] = field(default_factory=dict)

    async def pull(self, spec: ImageSpec, credential: Credential | None = None) -> str:
        self.credentials[spec.image] = credential
        return await super().pull(spec, credential)


class Credentials(Anonymous):
    async def credentials(self, image: str) -> tuple[Credential, ...]:
        if image == BROKEN.image:
            secret = "https://me:hunter2@registry.example.com/?signature=hunter2"
            raise ValueError(f"a line that is no JSON: {secret} {'x' * texts.TEXT_BYTES_MAX}")
        return (SECRET,) if image == key("private").image else ()

    def accepted(self, image: str, credential: Credential) -> None:
        assert credential == SECRET


async def nothing(key: ImageKey, spec: ImageSpec) -> None:
    """What else happens to a pulled image is no matter here."""


async def unseen() -> int | None:
    raise cri.Unavailable("the disk is seen by the tests alone")


class NoRegistry:
    async def head(self, reference: Reference) -> Descriptor | None:
        raise Transient(f"{reference}: no answer")


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
async def pulling(
    runtime: Runtime,
    credentials: PullCredentials | None = None,
    used_bytes: Callable[[], Awaitable[int | None]] = unseen,
    registry: object = None,
) -> AsyncIterator[Pulling]:
    clock = VirtualClock()
    engine = PullEngine(
        cri=runtime,  # type: ignore[arg-type]  # the engine only pulls and looks
        registry=registry or NoRegistry(),  # type: ignore[arg-type]  # it only asks for tags
        credentials=credentials or Credentials(),
        clock=clock,
        metrics=PinMetrics(CollectorRegistry()),
        pulled=nothing,
        used_bytes=used_bytes,
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
    assert "a line that is no JSON" in fault.message
    assert "hunter2" not in fault.message
    assert len(fault.message.encode()) <= texts.TEXT_BYTES_MAX


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


async def test_pulls_of_an_image_are_counted_for_an_hour() -> None:
    async with pulling(Runtime()) as work:
        for count in (1, 2):
            work.start(key("a"))
            await work.settle()
            assert work.engine.past()[key("a")].count == count
        await work.clock.advance(3600)
        assert work.engine.past() == {}
        work.start(key("a"))
        await work.settle()
        assert work.engine.past()[key("a")].count == 1


async def test_a_failed_pull_that_is_cancelled_is_forgotten() -> None:
    async with pulling(Runtime()) as work:
        work.start(BROKEN)
        await work.settle()
        work.engine.cancel(BROKEN)
        assert work.engine.snapshot() == {}


async def test_an_error_stays_known_while_the_next_attempt_runs() -> None:
    async with pulling(Runtime()) as work:
        work.start(BROKEN)
        await work.settle()
        work.start(BROKEN)
        pull = work.engine.snapshot()[BROKEN]
        assert pull.running
        assert pull.attempts == 2
        assert pull.error is not None
        await asyncio.sleep(0)


SECONDS = 60


@dataclass
class RenamingRuntime(Runtime):
    """Lists what it pulled under another name, as runtimes do that know better."""

    async def pull(self, spec: ImageSpec, credential: Credential | None = None) -> str:
        self.names.add(f"elsewhere.example/{spec.image}")
        self.pulled.append(spec.image)
        return whole_nodes.image_id(spec.image)

    async def image(self, spec: ImageSpec) -> Image | None:
        return (await self.images())[0]


async def test_what_is_listed_under_another_name_is_reported_and_not_pulled_all_the_time(
    tmp_path: Path,
) -> None:
    desired = Desired(node_name="node-1", sets=(image_set("s", "a"),))
    runtime = RenamingRuntime()
    async with whole_nodes.opened(tmp_path, runtime) as node:
        await node.live(desired, seconds=SECONDS)
        assert 3 <= len(runtime.pulled) <= 5
        (error,) = node.status.pinned_image_sets[0].last_failed_generation_errors
    assert f"lists it as elsewhere.example/{key('a')}" in error


async def test_an_image_for_guests_is_not_pulled_while_it_is_unresolved(
    tmp_path: Path,
) -> None:
    wanted = replace(image_set("s"), images=(key("a", "kata"),))
    async with whole_nodes.opened(tmp_path) as node:
        node.registry.is_away = True
        await node.live(Desired(node_name="node-1", sets=(wanted,)), seconds=SECONDS)
        assert node.runtime.pulled == []
        (error,) = node.status.pinned_image_sets[0].last_failed_generation_errors
    assert f"failed to resolve {key('a', 'kata')}: the registry is away" in error


@dataclass
class TalkativeRuntime(Runtime):
    async def pull(self, spec: ImageSpec, credential: Credential | None = None) -> str:
        url = "https://store.example/blob?X-Amz-Signature=0123456789abcdef"
        raise cri.Unauthorized(f"unexpected status from GET {url}: 403 Forbidden")


async def test_a_signed_url_in_the_words_of_a_runtime_does_not_reach_the_status(
    tmp_path: Path,
) -> None:
    desired = Desired(node_name="node-1", sets=(image_set("s", "a"),))
    async with whole_nodes.opened(tmp_path, TalkativeRuntime()) as node:
        await node.live(desired, seconds=3)
        (error,) = node.status.pinned_image_sets[0].last_failed_generation_errors
    assert "403 Forbidden" in error
    assert "0123456789abcdef" not in error


@dataclass
class CollectedRuntime(Runtime):
    """Its kubelet removes every image at once: none is pinned before the set is complete."""

    async def pull(self, spec: ImageSpec, credential: Credential | None = None) -> str:
        if spec.image == key("b").image:
            raise cri.ImageNotFound("no such image")
        return await super().pull(spec, credential)


async def test_a_removed_image_of_an_incomplete_set_is_not_pulled_in_a_loop(
    tmp_path: Path,
) -> None:
    desired = Desired(node_name="node-1", sets=(image_set("s", "a", "b"),))
    runtime = CollectedRuntime()
    async with whole_nodes.opened(tmp_path, runtime) as node:
        for _ in range(1000):
            await node.live(desired, seconds=1)
            runtime.names.clear()
        errors = node.status.pinned_image_sets[0].last_failed_generation_errors
    assert 4 <= runtime.pulled.count(key("a").image) <= 6
    assert any(f"{key('a')} was pulled" in error for error in errors)


async def test_a_pull_without_progress_is_cancelled_named_and_tried_again(
    tmp_path: Path,
) -> None:
    limit = timedelta(seconds=30)
    desired = Desired(
        node_name="node-1",
        sets=(image_set("s", "a"),),
        settings=PinSettings(pull_progress_timeout=limit),
    )
    async with whole_nodes.opened(tmp_path) as node:
        node.runtime.gate.clear()
        with structlog.testing.capture_logs() as logs:
            await node.live(desired, seconds=33)
        assert node.runtime.pulling_count == 0
        (error,) = node.status.pinned_image_sets[0].last_failed_generation_errors
        assert (
            error
            == f"failed to pull {key('a')}: the pull made no progress for 30s and was cancelled"
        )
        logged = [(one["event"], one["log_level"], one["image"]) for one in logs]
        assert logged == [("pull failed", "warning", str(key("a")))]
        await node.live(desired, seconds=10)
        assert node.runtime.pulling_count == 1
        node.runtime.gate.set()
        await node.live(desired, seconds=5)
        assert node.status.pinned_image_sets[0].current_generation == 1


async def test_a_slow_pull_that_makes_progress_goes_on() -> None:
    runtime = Runtime()
    runtime.gate.clear()
    async with pulling(runtime) as work:
        work.engine.record_disk_usage(0)
        work.start(key("a"))
        began = work.clock.now()
        await work.settle()
        work.engine.record_disk_usage(PROGRESS_BYTES_MIN - 1)
        assert work.engine.snapshot()[key("a")].progress_at == began
        await work.settle()
        work.engine.record_disk_usage(PROGRESS_BYTES_MIN)
        assert work.engine.snapshot()[key("a")].progress_at == work.clock.now()
        work.engine.record_disk_usage(None)
        assert work.engine.snapshot()[key("a")].progress_at is None


STALE, GOOD = (Credential(username="me", password=word) for word in ("stale", "good"))


@dataclass
class GuardedRuntime(Runtime):
    """Its registry takes one password only."""

    asked: list[str] = field(default_factory=list)

    async def pull(self, spec: ImageSpec, credential: Credential | None = None) -> str:
        password = credential.password if credential else ""
        self.asked.append(password)
        if password != GOOD.password:
            raise cri.Unauthorized("403 Forbidden", image=spec.image)
        return await super().pull(spec, credential)


async def test_every_credential_is_tried_and_the_good_one_first_afterwards() -> None:
    longest_first = {
        "registry.example/a": STALE,
        "registry.example/b": STALE,
        "registry.example": GOOD,
    }
    known = ImageCredentials(source=Table(longest_first), routing=DirectRouting())
    runtime = GuardedRuntime()
    async with pulling(runtime, known) as work:
        for name in ("a", "b"):
            work.start(key(name))
            await work.settle()
    assert runtime.pulled == [key("a").image, key("b").image]
    assert runtime.asked == ["stale", "good", "good"]


@dataclass
class Plugin:
    """Remembers its credential until it is dropped; then it makes another one."""

    passwords: list[str]
    number: int = 0

    async def find(self, endpoint: Endpoint) -> tuple[Credential, ...]:
        return (Credential(username="me", password=self.passwords[self.number]),)

    def forget(self, endpoint: Endpoint) -> bool:
        self.number = min(self.number + 1, len(self.passwords) - 1)
        return True


async def test_what_a_plugin_remembered_is_asked_for_anew_when_it_is_refused() -> None:
    known = ImageCredentials(source=Plugin(["stale", "good"]), routing=DirectRouting())
    runtime = GuardedRuntime()
    async with pulling(runtime, known) as work:
        work.start(key("a"))
        await work.settle()
    assert runtime.pulled == [key("a").image]
    assert runtime.asked == ["stale", "good"]


async def test_no_plugin_is_asked_anew_while_a_good_credential_is_left() -> None:
    plugin = Plugin(["stale", "another"])
    source = Chain((plugin, Table({"registry.example": GOOD})))
    runtime = GuardedRuntime()
    known = ImageCredentials(source=source, routing=DirectRouting())
    async with pulling(runtime, known) as work:
        work.start(key("a"))
        await work.settle()
    assert runtime.pulled == [key("a").image]
    assert plugin.number == 0


async def test_a_credential_that_worked_once_is_forgotten_when_it_is_refused() -> None:
    longest_first = {"registry.example/a": STALE, "registry.example": GOOD}
    known = ImageCredentials(source=Table(longest_first), routing=DirectRouting())
    image = key("a").image
    stale, good = await known.credentials(image)
    known.accepted(image, good)
    assert await known.credentials(image) == (good, stale)
    known.refused(image, good)
    assert await known.credentials(image) == (stale, good)


async def test_a_plugin_with_another_credential_at_each_call_is_no_news() -> None:
    passwords = iter(map(str, range(100)))

    class Restless(Anonymous):
        async def credentials(self, image: str) -> tuple[Credential, ...]:
            return (Credential(username="me", password=next(passwords)),)

        def refused(self, image: str, credential: Credential) -> None:
            """It remembers nothing."""

    async with pulling(GuardedRuntime(), Restless()) as work:
        work.start(key("a"))
        await work.settle()
        for _ in range(3):
            await work.engine.check_for_new_credentials()
        assert not work.engine.snapshot()[key("a")].credentials_changed


async def test_a_new_secret_that_is_refused_too_waits_again() -> None:
    secrets = {"registry.example": STALE}
    known = ImageCredentials(source=Table(secrets), routing=DirectRouting())
    async with pulling(GuardedRuntime(), known) as work:
        work.start(key("a"))
        await work.settle()
        secrets["registry.example"] = Credential(username="me", password="stale too")
        for _ in range(2):
            await work.engine.check_for_new_credentials()
        assert work.engine.snapshot()[key("a")].credentials_changed
        work.start(key("a"))
        await work.settle()
        for _ in range(3):
            await work.engine.check_for_new_credentials()
        pull = work.engine.snapshot()[key("a")]
        assert not pull.credentials_changed
        assert rules.retry_at(key("a"), pull, NODE, work.clock.now()) is not None


async def test_a_node_that_was_refused_pulls_when_the_secret_is_new(
    tmp_path: Path,
) -> None:
    secrets = {"registry.example": STALE}
    known = ImageCredentials(source=Table(secrets), routing=DirectRouting())
    runtime = GuardedRuntime()
    desired = replace(NODE, sets=(image_set("s", "a"),))
    async with whole_nodes.opened(tmp_path, runtime, credentials=known) as node:
        await node.live(desired, seconds=60)
        tried = len(runtime.asked)
        secrets["registry.example"] = GOOD
        await node.live(desired, seconds=int(2 * CREDENTIALS_SECONDS) + 4)
    assert runtime.pulled == [key("a").image]
    assert runtime.asked[tried:] == ["good"]


async def test_a_new_secret_ends_the_back_off() -> None:
    secrets = {"registry.example": STALE}
    known = ImageCredentials(source=Table(secrets), routing=DirectRouting())
    runtime = GuardedRuntime()
    async with pulling(runtime, known) as work:
        work.start(key("a"))
        await work.settle()
        for _ in range(3):
            await work.engine.check_for_new_credentials()
        assert not work.engine.snapshot()[key("a")].credentials_changed
        secrets["registry.example"] = GOOD
        for _ in range(2):
            await work.engine.check_for_new_credentials()
        pull = work.engine.snapshot()[key("a")]
        assert pull.credentials_changed
        assert rules.retry_at(key("a"), pull, NODE, work.clock.now()) is None
        work.start(key("a"))
        await work.settle()
    assert runtime.pulled == [key("a").image]


async def test_the_disk_is_looked_at_while_pulls_run_and_not_after() -> None:
    runtime, looks = Runtime(), 0

    async def growing() -> int | None:
        nonlocal looks
        looks += 1
        return looks * 10 * PROGRESS_BYTES_MIN

    async with pulling(runtime, used_bytes=growing) as work:
        runtime.gate.clear()
        work.start(key("a"))
        for _ in range(3):
            await work.clock.advance(DISK_SECONDS)
        assert work.engine.transfer.grown_bytes == 30 * PROGRESS_BYTES_MIN
        rate = work.engine.transfer.grown_bytes_per_second
        assert rate == 10 * PROGRESS_BYTES_MIN / DISK_SECONDS
        runtime.gate.set()
        await work.clock.advance(10 * DISK_SECONDS)
        before = looks
        await work.clock.advance(10 * DISK_SECONDS)
        assert looks == before


class TagRegistry:
    """Its tag means one image."""

    def __init__(self, image: str) -> None:
        self._digest = digests.parse(image.partition("@")[2])

    async def head(self, reference: Reference) -> Descriptor | None:
        return Descriptor(media_type="", digest=self._digest, size_bytes=1)


class TaggingRuntime(Runtime):
    """A pull of the tag brings the image of the registry."""

    brings = key("a").image

    async def image(self, spec: ImageSpec) -> Image | None:
        tag = "registry.example/a:v1"
        if spec.image == tag and tag in self.names:
            brought = whole_nodes.image_id(self.brings)
            return Image(id=brought, size_bytes=1, repo_tags=(tag,), repo_digests=(self.brings,))
        return Image(id=whole_nodes.image_id(spec.image), size_bytes=1, repo_digests=(spec.image,))


@pytest.mark.parametrize(
    ("registry", "brings", "pulled", "error"),
    [
        (TagRegistry(key("a").image), "a", True, None),
        (TagRegistry(key("b").image), "b", False, PullErrorKind.TAG_MOVED),
        (None, "a", True, None),
        (None, "b", True, PullErrorKind.TAG_MOVED),
    ],
    ids=[
        "a tag that means the image of the set is pulled",
        "a tag that moved is not pulled",
        "a registry that the agent cannot ask is left to the runtime",
        "and the image is checked after the pull",
    ],
)
async def test_a_pull_by_tag(
    registry: object, brings: str, pulled: bool, error: PullErrorKind | None
) -> None:
    runtime = TaggingRuntime()
    runtime.brings = key(brings).image
    async with pulling(runtime, registry=registry) as work:
        work.engine.start(key("a"), ImageSpec(image="registry.example/a:v1"), new_bytes=0)
        await work.settle()
        found = work.engine.snapshot().get(key("a"))
    assert bool(runtime.pulled) is pulled
    assert (found.error.kind if found and found.error else None) is error
