"""Pruning real registries: their own garbage collection, and pushes while images go."""

import asyncio
import contextlib
import os
import random
import time
from pathlib import Path
from typing import Any

import pytest

from lading.adapters.storage import object_storage
from lading.kernel.references import Reference
from lading.loop import tasks
from lading.ports import registry as registries
from lading.ports.registry_administration import RegistryAdministration
from lading.pruning.engine.decisions import policy
from lading.pruning.engine.effects.outcomes import CanaryFailed, Result
from tests import command
from tests.cli.prune import recorded
from tests.pruning import pruned_kinds, worlds
from tests.pruning.worlds import World
from tests.real.bed import registry

CHURN_SECONDS = int(os.environ.get("LADING_RACE_SECONDS", "60"))
"""`make soak` sets more."""
Pushed = tuple[str, tuple[float, float]]
"""A digest, and when its push began and was answered."""
EVERYTHING = policy.parse(
    {
        "policies": [
            {
                "repositories": ["**"],
                "keepTags": [{"patterns": ["keep.*"]}],
                "artifactTypes": [pruned_kinds.HELM, pruned_kinds.SIGNATURE],
            }
        ]
    }
)


@pytest.mark.components("registry")
@pytest.mark.parametrize("version", registry.VERSIONS)
async def test_after_prune_and_garbage_collection_everything_can_be_restored(
    version: str, tmp_path: Path
) -> None:
    with registry.registry(version) as real:
        async with worlds.on(real.url, tmp_path) as world:
            world.policy = EVERYTHING
            pushed = await pruned_kinds.push_all(world.shelf, "team/app")
            kept = await world.shelf.image("team/app:keep", layers=[b"kept", b"amd layer"])
            pruner = world.pruner()
            applied = await pruner.apply()
            assert {one.result for one in applied.outcomes} == {Result.DELETED}, applied.outcomes
            assert await world.shelf.tags("team/app") == {"keep"}
            await asyncio.to_thread(real.collect_garbage, "-m")
            assert await world.shelf.pullable("team/app:keep")
            for place, record in await pruner.records():
                assert await pruner.restore(place, record) == ()
            everything = {**pushed, "keep": str(kept.digest)}
            await pruned_kinds.check_all(world, "team/app", everything)
            await asyncio.to_thread(real.collect_garbage, "-m")
            await pruned_kinds.check_all(world, "team/app", everything)


@pytest.mark.components("registry")
@pytest.mark.parametrize("version", registry.VERSIONS)
async def test_after_an_upgrade_trash_ages_and_condemned_blobs_are_known(
    version: str, tmp_path: Path
) -> None:
    with registry.registry(version) as real:
        recorded.write_storage(real.root)
        references = recorded.write_text(tmp_path / "references.json", host=real.host)
        policy_file = tmp_path / "policy.yaml"
        policy_file.write_text('policies: [{repositories: ["**"], keepTags: [{patterns: [keep]}]}]')
        where = ("--registry-url", real.url)
        used = ("--references", str(references), "--references-max-age", "876000h")
        pruned = await command.lading(
            *("prune", "images", "--confirm", *where, *used, "--policy", str(policy_file)),
            *("--registry-name", "registry.test"),
        )
        assert pruned.code == 0, pruned.errors
        swept = await command.lading(
            *("prune", "blobs", "--confirm", *where, f"--storage=file://{real.root}"),
            *("--grace=0s", "--second-look-after=0s"),
        )
        assert "freed 6 B in 1 blobs" in swept.output, swept.errors
        async with worlds.on(real.url, tmp_path) as world:
            assert await world.shelf.tags("team/app") == {"keep", "used"}
            for tag in ("deleted", "stuck", "old"):
                restored = await command.lading(
                    "prune", "restore", f"team/app:{tag}", "--source=registry", *where
                )
                assert restored.code == 0, restored.errors
                assert await world.shelf.pullable(f"team/app:{tag}")


@pytest.mark.components("registry")
@pytest.mark.parametrize("version", registry.VERSIONS)
async def test_a_tag_that_shares_its_digest_with_a_kept_one(version: str, tmp_path: Path) -> None:
    with registry.registry(version) as real:
        async with worlds.on(real.url, tmp_path) as world:
            image = await world.shelf.image("a:old")
            await world.registry.push_manifest(world.shelf.at("a:keep"), image)
            applied = await world.pruner().apply()
            cannot = version == "2.8"
            expected = Result.CANNOT_UNTAG if cannot else Result.DELETED
            assert [one.result for one in applied.outcomes] == [expected]
            assert await world.shelf.tags("a") == ({"old", "keep"} if cannot else {"keep"})
            assert await world.shelf.pullable("a:keep")


@pytest.mark.components("registry")
@pytest.mark.parametrize("version", registry.VERSIONS)
async def test_by_its_storage_old_revisions_go_and_the_rest_stays(
    version: str, tmp_path: Path
) -> None:
    """What distribution itself wrote: history, a tag that moved back, nested and signed images."""
    with registry.registry(version) as real:
        async with worlds.on(real.url, tmp_path) as world:
            world.policy = policy.NO_POLICY
            kinds = await pruned_kinds.push_all(world.shelf, "team/app")
            images = [
                await world.shelf.image("a:v1", layers=[f"layer {number}".encode()])
                for number in range(5)
            ]
            await world.registry.push_manifest(world.shelf.at("a:v1"), images[0])
            url = f"file://{real.root}"
            world.storage = object_storage.open_storage(url, environment={})
            applied = await world.pruner().apply()
            assert {one.result for one in applied.outcomes} == {Result.DELETED}
            gone = {one.line.digest for one in applied.outcomes}
            assert gone == {str(images[1].digest), str(images[2].digest)}
            for image in (images[0], images[3], images[4]):
                assert await world.shelf.pullable(f"a@{image.digest}")
            await pruned_kinds.check_all(world, "team/app", kinds)
            assert (await world.pruner().apply()).outcomes == ()
            assert not _files(real.root / "lading")


@pytest.mark.components("registry")
@pytest.mark.parametrize("version", registry.VERSIONS)
async def test_pushes_moves_and_rollbacks_during_pruning_lose_nothing(
    version: str, tmp_path: Path
) -> None:
    """Tags that stay are pushed to all the time; every one can be pulled in the end."""
    with registry.registry(version) as real:
        async with worlds.on(real.url, tmp_path) as world:
            watched = Watched(world.registry)
            world.registry = watched
            stop = asyncio.Event()
            pushes: list[Pushed] = []
            async with tasks.started(_push(world, stop, pushes)) as pushing:
                deleted, stopped = await _prune(world, seconds=CHURN_SECONDS)
                stop.set()
                kept = await pushing
            assert deleted > 0, "nothing was pruned, so nothing was tested"
            exempt = sum(watched.is_exempt(*pushed) for pushed in pushes)
            assert stopped <= exempt, "a run stops only for a push in the one gap"
            for name, (digest, pushed) in kept.items():
                if watched.is_exempt(digest, pushed):
                    continue
                found = await world.registry.head(world.shelf.at(name))
                assert found is not None, f"{name} is gone"
                assert str(found.digest) == digest, f"{name} is another image"
                assert await world.shelf.pullable(name), f"{name} is not whole"


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


class Watched:
    """The registry, and which digests are between the last list of tags and their deletion.

    A push of such a digest is the one exception that docs/pruning.md names.
    """

    def __init__(self, inner: RegistryAdministration) -> None:
        self._inner = inner
        self._listed_at = 0.0
        self.windows: list[tuple[str, float, float]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def tags(self, repository: Reference) -> tuple[str, ...]:
        self._listed_at = time.monotonic()
        return await self._inner.tags(repository)

    async def delete(self, reference: Reference) -> bool:
        found = await self._inner.delete(reference)
        self.windows.append((str(reference.digest), self._listed_at, time.monotonic()))
        return found

    def is_exempt(self, digest: str, pushed: tuple[float, float]) -> bool:
        begin, end = pushed
        return any(
            one == digest and begin <= window_end and end >= window_begin
            for one, window_begin, window_end in self.windows
        )


async def _prune(world: World, *, seconds: float) -> tuple[int, int]:
    """How many lines were deleted, and how many runs the canary stopped."""
    deleted = stopped = 0
    end = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < end:
        try:
            applied = await world.pruner().apply()
        except CanaryFailed:
            stopped += 1
            continue
        deleted += sum(one.result is Result.DELETED for one in applied.outcomes)
    return deleted, stopped


async def _push(world: World, stop: asyncio.Event, pushes: list[Pushed]) -> dict[str, Pushed]:
    """Until the end: candidates, kept tags that move, rollbacks to old digests, pods."""
    draw = random.Random(1)
    kept: dict[str, Pushed] = {}
    history = []
    number = 0
    while not stop.is_set():
        number += 1
        content = f"layer {number}".encode()
        candidate = await world.shelf.image(f"a:old-{number}", layers=[content, b"shared"])
        history.append(candidate)
        tag, begin = f"a:keep-{draw.randint(1, 5)}", time.monotonic()
        if draw.random() < 0.4 and len(history) > 3:
            # A rollback: the image may be on its way out or gone, so it is pushed whole.
            back = draw.choice(history[-10:])
            with contextlib.suppress(registries.MalformedAnswer):
                await world.registry.push_manifest(world.shelf.at(tag), back)
                kept[tag] = str(back.digest), (begin, time.monotonic())
                pushes.append(kept[tag])
        else:
            moved = await world.shelf.image(tag, layers=[content, b"kept"])
            kept[tag] = str(moved.digest), (begin, time.monotonic())
            pushes.append(kept[tag])
        if number % 10 == 0 and tag in kept:
            await world.run_pod(f"registry.test/a@{kept[tag][0]}", name=f"pod-{number}")
        await asyncio.sleep(draw.random() * 0.05)
    return kept
