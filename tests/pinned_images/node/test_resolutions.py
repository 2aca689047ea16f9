"""What an image means on a node: the manifest of its platform, and the sizes of its layers."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client
from lading.adapters.registry.client import RegistryClient
from lading.adapters.state_files import FileJournal
from lading.embedded import sample_images
from lading.embedded.registry import server
from lading.kernel import references
from lading.kernel.images import ImageKey
from lading.kernel.platforms import Platform
from lading.pinned_images.node import resolutions
from lading.pinned_images.node.resolutions import Resolver
from lading.pinned_images.node.types import PullErrorKind
from lading.ports import platform_image

AMD64 = Platform(os="linux", architecture="amd64")
ARM64 = Platform(os="linux", architecture="arm64")
WAIT_SECONDS_MAX = 20.0


class Registry:
    """A registry and a client of it."""

    def __init__(self, host: str, registry: RegistryClient) -> None:
        self.host = host
        self.client = registry

    async def push(self, name: str, *sizes: tuple[Platform, int]) -> ImageKey:
        images = [
            sample_images.image(
                [{"file": sample_images.noise(f"{name} {platform}", size)}], platform=platform
            )
            for platform, size in sizes
        ]
        tag = references.parse(f"{self.host}/{name}:v1")
        pushed = await sample_images.push(self.client, tag, sample_images.index(images))
        return ImageKey(str(pushed))


@contextlib.asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[Registry]:
    async with (
        server.serve(folder / "registry") as url,
        client.connect(SystemClock()) as connected,
    ):
        yield Registry(url.removeprefix("http://"), connected)


@pytest.fixture
async def registry(tmp_path: Path) -> AsyncIterator[Registry]:
    async with serving(tmp_path) as made:
        yield made


class Resolving:
    """A resolver that tells when it has an answer to everything it was asked."""

    def __init__(self, registry: Registry, journal: Path) -> None:
        self.changed = asyncio.Event()
        self.resolver = Resolver(
            registry=registry.client,
            journal=FileJournal(journal),
            clock=SystemClock(),
            platform_of=lambda handler: ARM64 if handler == "arm" else AMD64,
            changed=self.changed.set,
        )

    async def resolve(self, *keys: ImageKey) -> None:
        self.resolver.resolve(keys)
        async with asyncio.timeout(WAIT_SECONDS_MAX):
            while not set(keys) <= {*self.resolver.resolutions(), *self.resolver.failed()}:
                self.changed.clear()
                await self.changed.wait()

    async def resolve_again(self, *keys: ImageKey) -> None:
        self.resolver.resolve(keys)
        async with asyncio.timeout(WAIT_SECONDS_MAX):
            await self.resolver.wait()


async def test_an_index_is_sized_by_the_manifest_of_the_nodes_platform(
    registry: Registry, tmp_path: Path
) -> None:
    """In OpenShift's daemon an image for several platforms counted as zero bytes."""
    key = await registry.push("app", (AMD64, 300_000), (ARM64, 900_000))
    work = Resolving(registry, tmp_path / "notes")
    await work.resolve(key)
    found = work.resolver.resolutions()[key]
    assert 300_000 < found.size_bytes < 400_000


async def test_a_runtime_handler_gets_the_manifest_of_its_guests(
    registry: Registry, tmp_path: Path
) -> None:
    key = await registry.push("app", (AMD64, 300_000), (ARM64, 900_000))
    guest = ImageKey(key.image, "arm")
    work = Resolving(registry, tmp_path / "notes")
    await work.resolve(key, guest)
    known = work.resolver.resolutions()
    assert 900_000 < known[guest].size_bytes < 1_000_000
    assert known[guest].manifest != known[key].manifest


async def test_what_is_known_is_not_asked_again_after_a_restart(tmp_path: Path) -> None:
    async with serving(tmp_path) as registry:
        key = await registry.push("app", (AMD64, 1000))
        first = Resolving(registry, tmp_path / "notes")
        await first.resolve(key)
    again = Resolving(registry, tmp_path / "notes")
    await again.resolve(key)
    assert again.resolver.resolutions() == first.resolver.resolutions()


async def test_an_image_without_a_manifest_for_the_platform_fails_alone(
    registry: Registry, tmp_path: Path
) -> None:
    bad = await registry.push("bad", (ARM64, 1000))
    good = await registry.push("good", (AMD64, 1000))
    work = Resolving(registry, tmp_path / "notes")
    await work.resolve(bad, good)
    (failed,) = work.resolver.failed().items()
    assert failed[0] == bad
    assert failed[1].error.kind is PullErrorKind.NO_MATCHING_PLATFORM
    assert set(work.resolver.resolutions()) == {good}


async def test_an_image_for_one_platform_is_refused_for_guests_of_another(
    registry: Registry, tmp_path: Path
) -> None:
    """It could be pulled and pinned by its digest, and no guest could run it."""
    sample = sample_images.image([{"file": b"for amd64"}], platform=AMD64)
    tag = references.parse(f"{registry.host}/single:v1")
    pushed = await sample_images.push(registry.client, tag, sample)
    host, guest = ImageKey(str(pushed)), ImageKey(str(pushed), "arm")
    work = Resolving(registry, tmp_path / "notes")
    await work.resolve(host, guest)
    assert set(work.resolver.resolutions()) == {host}
    error = work.resolver.failed()[guest].error
    assert error.kind is PullErrorKind.NO_MATCHING_PLATFORM
    assert "no image for linux/arm64: it is linux/amd64" in error.message


async def test_each_failure_of_an_image_is_counted(registry: Registry, tmp_path: Path) -> None:
    missing = ImageKey(f"{registry.host}/missing@sha256:{'0' * 64}")
    work = Resolving(registry, tmp_path / "notes")
    for attempts in (1, 2):
        work.resolver.resolve([missing])
        await work.resolver.wait()
        failed = work.resolver.failed()[missing]
        assert (failed.attempts, failed.error.kind) == (attempts, PullErrorKind.NOT_FOUND)


async def test_an_entry_of_a_later_release_is_resolved_again(
    registry: Registry, tmp_path: Path
) -> None:
    key = await registry.push("app", (AMD64, 1000))
    first = Resolving(registry, tmp_path / "notes")
    await first.resolve(key)
    (note,) = FileJournal(tmp_path / "notes").entries()
    FileJournal(tmp_path / "notes").put(note, {"version": 2, "blobs": "otherwise"})
    again = Resolving(registry, tmp_path / "notes")
    await again.resolve(key)
    assert again.resolver.resolutions() == first.resolver.resolutions()


@pytest.mark.parametrize(
    "change",
    [
        {"layers": [["../../../etc/passwd", 1]]},
        {"layers": [["sha256:0", 1]]},
        {"manifest": f"other.example/evil@sha256:{'0' * 64}"},
        {"manifest": "../app"},
        {"manifest": ""},
    ],
    ids=["a path", "a short digest", "another repository", "a path as manifest", "no manifest"],
)
async def test_an_entry_with_a_name_that_is_none_is_resolved_again(
    registry: Registry, tmp_path: Path, change: dict[str, Any]
) -> None:
    """The runtime is asked to pull the manifest that the entry names."""
    key = await registry.push("app", (AMD64, 1000))
    first = Resolving(registry, tmp_path / "notes")
    await first.resolve(key)
    ((note, entry),) = FileJournal(tmp_path / "notes").entries().items()
    FileJournal(tmp_path / "notes").put(note, {**entry, **change})
    again = Resolving(registry, tmp_path / "notes")
    await again.resolve(key)
    assert again.resolver.resolutions() == first.resolver.resolutions()


async def test_what_cannot_be_written_is_known_all_the_same(
    registry: Registry, tmp_path: Path
) -> None:
    key = await registry.push("app", (AMD64, 1000))
    work = Resolving(registry, tmp_path / "state" / "notes")
    (tmp_path / "state").write_text("a file where the folder should be")
    await work.resolve(key)
    assert set(work.resolver.resolutions()) == {key}


async def test_an_image_with_a_name_that_breaks_the_registry_client_fails_alone(
    registry: Registry, tmp_path: Path
) -> None:
    label = "a" * 64  # one letter more than the domain name system has room for
    bad = ImageKey(f"{label}.example/app@sha256:{'0' * 64}")
    good = await registry.push("good", (AMD64, 1000))
    work = Resolving(registry, tmp_path / "notes")
    await work.resolve(bad, good)
    assert set(work.resolver.failed()) == {bad}
    assert set(work.resolver.resolutions()) == {good}


async def test_a_registry_that_hangs_blocks_no_image_of_another(
    registry: Registry, tmp_path: Path
) -> None:
    async with a_registry_that_never_answers() as host:
        hung = [ImageKey(f"{host}/{number}@sha256:{'0' * 64}") for number in range(50)]
        work = Resolving(registry, tmp_path / "notes")
        work.resolver.resolve(hung)
        good = await registry.push("good", (AMD64, 1000))
        await work.resolve(good)
        assert set(work.resolver.resolutions()) == {good}
        await work.resolver.close()


@contextlib.asynccontextmanager
async def a_registry_that_never_answers() -> AsyncIterator[str]:
    ended = asyncio.Event()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await ended.wait()
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        ended.set()


async def test_an_image_of_more_layers_than_any_runtime_mounts_is_not_resolved(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hostile manifest lists thousands, and each would be kept."""
    monkeypatch.setattr(platform_image, "LAYERS_MAX", 0)
    bad = await registry.push("app", (AMD64, 1000))
    work = Resolving(registry, tmp_path / "notes")
    await work.resolve(bad)
    assert set(work.resolver.failed()) == {bad}


async def test_what_no_set_wants_any_more_is_forgotten(registry: Registry, tmp_path: Path) -> None:
    """Else the memory of an agent grows with every set that was ever created."""
    kept, dropped = [await registry.push(name, (AMD64, 1000)) for name in ("kept", "dropped")]
    missing = ImageKey(f"{registry.host}/missing@sha256:{'0' * 64}")
    work = Resolving(registry, tmp_path / "notes")
    await work.resolve(kept, dropped, missing)
    work.resolver.drop_except({kept})
    assert set(work.resolver.resolutions()) == {kept}
    assert not work.resolver.failed()


async def test_an_image_that_is_not_wanted_any_more_is_not_resolved_further(
    registry: Registry, tmp_path: Path
) -> None:
    async with a_registry_that_never_answers() as host:
        hung = ImageKey(f"{host}/app@sha256:{'0' * 64}")
        work = Resolving(registry, tmp_path / "notes")
        work.resolver.resolve([hung])
        work.resolver.drop_except(set())
        async with asyncio.timeout(WAIT_SECONDS_MAX):
            await work.resolver.wait()
        assert not work.resolver.failed()


async def test_all_images_together_have_a_limit_of_layers(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each sample has a configuration and a layer, and a restart does not lift the limit."""
    monkeypatch.setattr(resolutions, "LAYERS_KNOWN_MAX", 3)
    first, second = [await registry.push(name, (AMD64, 1000)) for name in ("first", "second")]
    for _ in ("resolved", "read from the journal"):
        work = Resolving(registry, tmp_path / "notes")
        await work.resolve(first)
        await work.resolve(second)
        assert set(work.resolver.resolutions()) == {first}
        assert "more than 3 layers" in work.resolver.failed()[second].error.message
        work.resolver.drop_except({second})
        await work.resolve_again(second)
        assert set(work.resolver.resolutions()) == {second}


async def test_the_error_of_a_failure_is_short_and_without_secrets(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def failing(*_: object, **__: object) -> None:
        raise ValueError(f"https://me:hunter2@registry.example.com/?a=hunter2 {'x' * 10_000}")

    monkeypatch.setattr(platform_image, "resolve", failing)
    key = ImageKey(f"{registry.host}/app@sha256:{'0' * 64}")
    work = Resolving(registry, tmp_path / "notes")
    await work.resolve(key)
    message = work.resolver.failed()[key].error.message
    assert "registry.example.com" in message
    assert "hunter2" not in message
    assert len(message.encode()) <= resolutions.ERROR_BYTES_MAX
