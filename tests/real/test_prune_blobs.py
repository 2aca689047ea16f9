"""Freeing the storage of real registries while they are in use, on files and on S3."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lading.kernel.digests import Digest
from lading.kernel.values import replace
from lading.ports import registry as registries
from lading.pruning.engine import registry_url
from lading.pruning.engine.decisions.guards import Limits
from lading.pruning.engine.inventory.observe_storage import data_path
from lading.pruning.engine.references import references_file
from lading.pruning.engine.references.observe import ClusterReferences
from lading.pruning.engine.types import Mention
from lading.pruning.sweep import layout
from lading.pruning.sweep.apply import SweepCounts
from lading.pruning.sweep.probe import PROBE_REPOSITORY, ProbeFailed
from lading.pruning.sweep.types import SweepSettings
from lading.wiring import sweep as wiring
from lading.wiring.sweep import SweepOptions
from tests.command import lading
from tests.pruning import worlds
from tests.pruning.worlds import Shelf
from tests.real.bed import disk, registry, s3, sandbox
from tests.real.pushers import Pusher

RACE_SECONDS = int(os.environ.get("LADING_RACE_SECONDS", "25"))
"""Of each of the four races; `make soak` has longer ones."""
GRACE = timedelta(seconds=2)
PUSHERS = 3
PHASE_SECONDS_MAX = 120.0
DISK_BYTES = 40_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """Replicas of one registry, and the storage under them."""

    url: str
    replicas: tuple[registry.Registry, ...]

    def options(self, **settings: object) -> SweepOptions:
        given: dict[str, object] = {
            "grace": GRACE,
            "second_look_after": timedelta(seconds=1),
            **settings,
        }
        return SweepOptions(
            storage_url=self.url,
            urls=tuple(registry_url.parse(one.url) for one in self.replicas),
            limits=Limits(share_percent_max=100),
            settings=SweepSettings(**given),  # type: ignore[arg-type]
        )

    async def sweep(self, **settings: object) -> SweepCounts:
        return await self._run(self.options(**settings))

    async def sweep_untagged(self, references: Path, **settings: object) -> SweepCounts:
        """What no tag and no reference reaches goes as well."""
        return await self._run(
            replace(
                self.options(**settings),
                untagged=True,
                reference_files=(references,),
                registry_names=("registry.test",),
            )
        )

    @staticmethod
    async def _run(options: SweepOptions) -> SweepCounts:
        async with wiring.open_sweeper(options) as sweeper:
            return (await sweeper.run()).counts


@contextmanager
def swept_registry(
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
    *,
    cache: str = "",
    version: str = "3.1",
    replicas: int = 1,
) -> Iterator[Swept]:
    with sandbox.sandbox() as place:
        if kind == "files":
            root = place.make_folder("storage")
            url, storage = f"file://{root}", None
        else:
            bucket = s3.start(place)
            for name, value in bucket.environment.items():
                monkeypatch.setenv(name, value)
            root, url, storage = None, f"s3://{bucket.name}", bucket.driver
        started = tuple(
            registry.start(place, version, cache=cache, root=root, storage=storage)
            for _ in range(replicas)
        )
        yield Swept(url=url, replicas=started)


@asynccontextmanager
async def shelves(swept: Swept) -> AsyncIterator[list[Shelf]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(worlds.shelf_at(one.url)) for one in swept.replicas]


@pytest.mark.components("registry")
@pytest.mark.parametrize("cache", ["", "inmemory"])
@pytest.mark.parametrize("kind", ["files", "s3"])
async def test_no_push_is_lost_during_sweeps(
    kind: str, cache: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two replicas; pushes, mounts, re-pushes of condemned content and re-tagging meanwhile."""
    with swept_registry(kind, monkeypatch, cache=cache, replicas=2) as swept:
        async with shelves(swept) as opened:
            pushers = [Pusher(opened[one % 2], one) for one in range(PUSHERS)]
            await pushers[0].push("team/a", (b"first",), tag="first")
            stop = asyncio.Event()
            total = SweepCounts()
            async with asyncio.TaskGroup() as group:
                for one in pushers:
                    group.create_task(one.run(stop))
                end = time.monotonic() + RACE_SECONDS
                while time.monotonic() < end or not total.freed_blobs:
                    assert time.monotonic() < end + PHASE_SECONDS_MAX, "nothing was ever freed"
                    counts = await swept.sweep()
                    total.freed_blobs += counts.freed_blobs
                    total.condemned += counts.condemned
                    assert counts.failures == []
                stop.set()
            await swept.sweep()
            lost = await asyncio.gather(*(one.lost() for one in pushers))
            assert [image for images in lost for image in images] == []
            assert sum(one.pushes for one in pushers) > PUSHERS


@pytest.mark.components("registry")
@pytest.mark.parametrize("version", registry.VERSIONS)
async def test_what_a_registry_does_with_data_that_is_there_aside_or_put_back(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the order of a sweep rests on."""
    with swept_registry("files", monkeypatch, version=version) as swept:
        root = Path(swept.url.removeprefix("file://"))
        async with shelves(swept) as (shelf,):
            place = shelf.at("a")
            image = await shelf.image("a:v1", layers=[b"content"])
            digest = Digest.of(b"content")
            data, link = (
                root / data_path(str(digest)),
                root / layout.layer_link("a", str(digest)),
            )
            link.unlink()
            assert not await shelf.admin.has_blob(place, digest)
            written = data.stat()
            await shelf.admin.push_blob(place, b"content")
            assert link.exists()
            assert data.stat().st_ino == written.st_ino, "an upload does not write data again"
            data.rename(root / "aside")
            with pytest.raises(registries.MalformedAnswer):
                await shelf.admin.push_manifest(shelf.at("a:v2"), image)
            (root / "aside").rename(data)
            await shelf.admin.push_manifest(shelf.at("a:v2"), image)
            assert await shelf.pullable("a:v2")
            data.rename(root / "aside")
            await shelf.admin.push_blob(place, b"content")
            assert data.exists(), "an upload writes data that is gone"
            assert await shelf.pullable("a:v2")


@pytest.mark.components("registry")
async def test_2_8_with_a_cache_is_refused_and_without_it_is_swept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for cache, is_refused in (("inmemory", True), ("", False)):
        with swept_registry("files", monkeypatch, version="2.8", cache=cache) as swept:
            async with shelves(swept) as (shelf,):
                await shelf.image("a:v1")
                orphan = await shelf.admin.push_blob(shelf.at("a"), b"orphan")
                root = Path(swept.url.removeprefix("file://"))
                if is_refused:
                    with pytest.raises(ProbeFailed, match="use --offline"):
                        await swept.sweep(grace=timedelta(0))
                    assert await shelf.admin.has_blob(shelf.at("a"), orphan.digest)
                    continue
                for _ in range(2):
                    await swept.sweep(grace=timedelta(0), second_look_after=timedelta(0))
                assert not (root / data_path(str(orphan.digest))).exists()
                assert await shelf.pullable("a:v1")


@pytest.fixture
def references(tmp_path: Path) -> Path:
    """Those of a cluster with one pod."""
    used = ClusterReferences(
        cluster="test",
        taken_at=datetime.now(UTC),
        mentions=(Mention("registry.test/b:v1", "Pod/b"),),
    )
    file = tmp_path / "references"
    file.write_bytes(references_file.encode(used))
    return file


@pytest.mark.components("registry")
@pytest.mark.parametrize("cache", ["", "inmemory"])
async def test_an_index_counts_on_no_child_that_is_condemned_or_gone(
    cache: str, monkeypatch: pytest.MonkeyPatch, references: Path
) -> None:
    """A cache of descriptors has the manifests of a repository beside its layers."""
    at_once = {"grace": timedelta(0), "second_look_after": timedelta(0)}
    with swept_registry("files", monkeypatch, cache=cache) as swept:
        async with shelves(swept) as (shelf,):
            await shelf.image("b:v1")
            child = await shelf.image("a:v1")
            await shelf.admin.delete(shelf.at("a:v1"))
            assert await shelf.pullable(f"a@{child.digest}")
            for _ in range(2):
                counts = await swept.sweep_untagged(references, **at_once)
                assert counts.answered == []
                with pytest.raises(registries.MalformedAnswer):
                    await shelf.index("a:v2", child)
            assert counts.freed_blobs
            assert await shelf.image("a:v1") == child
            await shelf.index("a:v2", child)
            assert await shelf.pullable("a:v2")


def _start(swept: Swept, *, second_look_after: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [
            *(Path(sys.executable).with_name("lading"), "prune", "blobs"),
            f"--storage={swept.url}",
            *(f"--registry-url={one.url}" for one in swept.replicas),
            *(
                "--grace=0s",
                f"--second-look-after={second_look_after}",
                "--max-delete-percent=100",
                "--confirm",
            ),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _wait(process: "subprocess.Popen[bytes]", is_reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PHASE_SECONDS_MAX
    while not is_reached():
        assert process.poll() is None, "it ended before it reached the phase"
        assert time.monotonic() < deadline, "the phase was not reached"
        time.sleep(0.002)


@pytest.mark.components("registry")
async def test_a_sweep_that_is_killed_in_any_phase_is_resumed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with swept_registry("files", monkeypatch) as swept:
        root = Path(swept.url.removeprefix("file://"))
        own = root / layout.OWN

        phases: list[tuple[str, Callable[[], bool]]] = [
            ("lock", lambda: (own / "lock").exists()),
            ("probe", lambda: (root / layout.REPOSITORIES / PROBE_REPOSITORY).exists()),
            ("condemned", lambda: b"sha256:" in _content(own / "state.json")),
            ("links gone", lambda: not (root / layout.layer_link("a", str(orphan))).exists()),
            ("aside", lambda: (root / layout.aside_path(str(orphan))).exists()),
        ]
        async with shelves(swept) as (shelf,):
            kept = await shelf.image("a:v1", layers=[b"kept"])
            orphan = (await shelf.admin.push_blob(shelf.at("a"), b"orphan")).digest
            for name, is_reached in phases:
                process = _start(swept, second_look_after="60s")
                try:
                    await asyncio.to_thread(_wait, process, is_reached)
                finally:
                    process.send_signal(signal.SIGKILL)
                    process.wait()
                assert await shelf.pullable(f"a@{kept.digest}"), name
            assert not (root / data_path(str(orphan))).exists(), "the last phase has it aside"
            again = (await shelf.admin.push_blob(shelf.at("a"), b"again")).digest
            for _ in range(3):
                last = await asyncio.to_thread(
                    _start(swept, second_look_after="0s").wait, PHASE_SECONDS_MAX
                )
                assert last == 0
            assert await shelf.pullable(f"a@{kept.digest}")
            assert not any((own / "aside").glob("*"))
            for digest in (orphan, again):
                assert not (root / data_path(str(digest))).exists()
            data = len(list((root / layout.BLOBS).glob("sha256/*/*/data")))
            assert data == 3, "the manifest, its configuration and its layer"


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


@pytest.mark.components("registry")
async def test_on_a_full_disk_space_is_freed_offline() -> None:
    with disk.loop_filesystem(DISK_BYTES) as folder, sandbox.sandbox() as place:
        root = folder / "storage"
        real = registry.start(place, "3.1", root=root)
        async with worlds.shelf_at(real.url) as shelf:
            await shelf.image("a:v1", layers=[b"kept"])
            orphan = await shelf.admin.push_blob(shelf.at("a"), os.urandom(1_000_000))
            _fill(folder)
            before = os.statvfs(folder).f_bfree
            answer = await lading(
                *("prune", "blobs", f"--storage=file://{root}", "--offline", "--confirm"),
                *("--grace=0s", "-o", "json"),
            )
            assert answer.code == 0, answer.errors
            assert json.loads(answer.output)["blobsFreed"] == 1
            assert not (root / data_path(str(orphan.digest))).exists()
            assert os.statvfs(folder).f_bfree > before
            assert await shelf.pullable("a:v1")


@pytest.mark.components("registry")
async def test_a_link_in_the_uploads_of_a_registry_does_not_lead_out(tmp_path: Path) -> None:
    precious = tmp_path / "precious/startedat"
    precious.parent.mkdir()
    precious.write_bytes(b"precious")
    os.utime(precious, (0, 0))
    with sandbox.sandbox() as place:
        root = place.folder / "storage"
        real = registry.start(place, "2.8", root=root)
        async with worlds.shelf_at(real.url) as shelf:
            await shelf.image("a:v1", layers=[b"kept"])
            orphan = await shelf.admin.push_blob(shelf.at("a"), b"orphan")
            uploads = root / layout.REPOSITORIES / "a/_uploads"
            uploads.mkdir(exist_ok=True)
            (uploads / "planted").symlink_to(precious.parent)
            answer = await lading(
                *("prune", "blobs", f"--storage=file://{root}", "--offline", "--confirm"),
                *("--grace=0s", "--max-delete-percent=100"),
            )
            assert answer.code == 1
            assert "_uploads/planted is a symbolic link" in " ".join(answer.errors.split())
            assert precious.read_bytes() == b"precious"
            assert not (root / data_path(str(orphan.digest))).exists()
            assert await shelf.pullable("a:v1")


def _fill(folder: Path) -> None:
    """To the last block, those that only root may use included."""
    with (folder / "filler").open("wb", buffering=0) as filler:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    filler.write(b"x" * size)
            except OSError:
                continue
