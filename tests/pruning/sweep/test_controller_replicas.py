"""Replicas with a cache: each forgets what goes, and what one still answers for stays."""

import pytest

from lading.kernel.digests import Digest
from lading.kernel.references import Reference
from lading.ports import registry as registries
from lading.pruning.sweep.probe import PROBE_REPOSITORY
from tests.pruning.sweep.memory_storage import MemoryStorage
from tests.pruning.sweep.storage_registry import StorageRegistry, image_content
from tests.pruning.sweep.worlds import SweepWorld


async def test_a_manifest_that_was_accepted_from_a_cache_gets_its_links_back() -> None:
    storage = MemoryStorage()
    first, second = (StorageRegistry(storage, has_cache=True) for _ in range(2))
    world = SweepWorld(storage=storage, replicas=(first,))
    first.image("b", "v1")
    layer, config = second.upload("a", b"1"), second.upload("a", b"{}")
    storage.pass_time(hours=25)
    await world.run()
    assert not world.has_layer("a", layer)
    image = second.put_manifest("a", image_content(config, [layer]), "v1")
    assert not second.can_pull("a", image)
    counts = (await world.run()).counts
    assert counts.restored == 2
    assert second.can_pull("a", image)
    await world.whole()
    assert second.can_pull("a", image)


async def test_a_blob_that_a_replica_still_answers_for_stays() -> None:
    storage = MemoryStorage()
    replicas = tuple(StorageRegistry(storage, has_cache=True) for _ in range(2))
    world = SweepWorld(storage=storage, replicas=replicas)
    replicas[0].image("b", "v1")
    digest = replicas[0].upload("a", b"1")
    storage.pass_time(hours=25)
    await world.run()
    replicas[1]._cache.add(("a", digest))
    storage.pass_time(hours=25)
    assert (await world.run()).counts.answered == [digest]
    assert world.has_data(digest)
    replicas[1]._cache.clear()  # a restart
    storage.pass_time(hours=25)
    assert (await world.run()).counts.freed_blobs == 1
    assert not world.has_data(digest)


async def test_every_replica_forgets_the_links_that_it_caches() -> None:
    storage = MemoryStorage()
    replicas = tuple(StorageRegistry(storage, has_cache=True) for _ in range(2))
    world = SweepWorld(storage=storage, replicas=replicas)
    replicas[0].image("b", "v1")
    digest = replicas[0].upload("a", b"1")
    assert replicas[1]._has("a", digest)
    await world.whole()
    assert not world.has_data(digest)


async def condemned_child() -> tuple[SweepWorld, str]:
    """A registry with a cache, and a manifest without a tag that has lost its link."""
    storage = MemoryStorage()
    registry = StorageRegistry(storage, has_cache=True)
    world = SweepWorld(storage=storage, replicas=(registry,), untagged=True)
    registry.image("b", "v1")
    child = registry.image("a", layers=[b"1"])
    storage.pass_time(hours=25)
    await world.run()
    return world, child


async def test_a_registry_forgets_the_manifests_that_it_caches() -> None:
    """Otherwise it accepts an index with a child that it cannot send."""
    world, child = await condemned_child()
    assert world.has_data(child)
    with pytest.raises(registries.MalformedAnswer):
        world.registry.index("a", [child], "v1")


async def test_a_manifest_that_a_replica_still_answers_for_stays() -> None:
    world, child = await condemned_child()
    world.registry._cache.add(("a", child))
    world.storage.pass_time(hours=25)
    assert (await world.run()).counts.answered == [child]
    assert world.has_data(child)


async def test_what_a_replica_cannot_be_asked_about_stays_and_the_run_ends_well(
    swept: SweepWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second look still comes: links were removed before."""
    swept.registry.image("b", "v1")
    due = [swept.registry.upload(f"a{number}", b"%d" % number) for number in range(3)]
    swept.storage.pass_time(hours=25)
    await swept.run()
    swept.registry.upload("a", b"condemned next")
    swept.storage.pass_time(hours=25)

    asked: list[Digest] = []

    async def no_answer(place: Reference, digest: Digest) -> bool:
        if place.repository != PROBE_REPOSITORY:
            asked.append(digest)
            raise registries.Unavailable(f"{place}: no answer")
        return swept.registry._has(place.repository, str(digest))

    looks: list[str] = []
    swept.on_sleep = lambda: looks.append("second look")
    with monkeypatch.context() as patched:
        patched.setattr(swept.registry, "has_blob", no_answer)
        counts = (await swept.run()).counts
    assert (counts.freed_blobs, counts.condemned, counts.failed) == (0, 1, 1)
    assert looks
    assert len(asked) == 1, "each question may cost a minute"
    assert all(map(swept.has_data, due))
    assert (await swept.run()).counts.freed_blobs == 3


async def test_a_repository_that_a_replica_refuses_holds_up_no_other(
    swept: SweepWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it had stays, also where another repository had it as well."""
    swept.registry.image("kept", "v1")
    refused = [swept.registry.upload("refused", b"refused %d" % number) for number in range(40)]
    swept.registry.upload("a", b"refused 0")
    free = [swept.registry.upload("a", b"free %d" % number) for number in range(40)]
    swept.storage.pass_time(hours=25)
    await swept.run()
    swept.storage.pass_time(hours=25)

    asked: list[Digest] = []

    async def refuse(place: Reference, digest: Digest) -> bool:
        if place.repository == "refused":
            asked.append(digest)
            raise registries.Denied(f"{place}: 403")
        return swept.registry._has(place.repository, str(digest))

    with monkeypatch.context() as patched:
        patched.setattr(swept.registry, "has_blob", refuse)
        counts = (await swept.run()).counts
    assert (counts.freed_blobs, counts.failed) == (len(free), 1), "one failure for the repository"
    assert "403" in counts.failures[0]
    assert len(asked) == 1
    assert all(map(swept.has_data, refused))
    assert (await swept.run()).counts.freed_blobs == len(refused)
