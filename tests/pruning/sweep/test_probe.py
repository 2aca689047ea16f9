"""The probe image: registries that a sweep may be done on, and those that would lose images."""

import pytest

from lading.pruning.engine.observe_storage import NoRegistry
from lading.pruning.sweep import layout
from lading.pruning.sweep.defaults import PROBE_REPOSITORY
from lading.pruning.sweep.probe import ProbeFailed
from tests.pruning.sweep.memory_storage import MemoryStorage
from tests.pruning.sweep.storage_registry import StorageRegistry
from tests.pruning.sweep.worlds import SweepWorld


@pytest.mark.parametrize("has_cache", [False, True])
async def test_a_registry_that_pulls_what_is_pushed_again(has_cache: bool) -> None:
    storage = MemoryStorage()
    registry = StorageRegistry(storage, has_cache=has_cache)
    world = SweepWorld(storage=storage, replicas=(registry,))
    registry.image("a", "v1")
    before = set(storage.objects)
    await world.run()
    assert {one for one in storage.objects if one.startswith(layout.ROOT)} == before


async def test_a_registry_that_trusts_its_cache_for_manifests_is_refused() -> None:
    """As distribution 2.8 with a cache of blob descriptors."""
    storage = MemoryStorage()
    registry = StorageRegistry(storage, has_cache=True, puts_trust_cache=True)
    world = SweepWorld(storage=storage, replicas=(registry,))
    registry.image("a", "v1")
    orphan = registry.upload("a", b"1")
    storage.pass_time(hours=25)
    before = set(storage.objects)
    with pytest.raises(ProbeFailed, match="use --offline"):
        await world.run()
    assert set(storage.objects) == before
    await world.run(offline=True)
    assert not world.has_data(orphan)


async def test_a_registry_with_a_cache_that_deletes_nothing_is_refused() -> None:
    storage = MemoryStorage()
    registry = StorageRegistry(storage, has_cache=True, can_delete=False)
    registry.image("a", "v1")
    with pytest.raises(ProbeFailed, match=r"storage\.delete\.enabled"):
        await SweepWorld(storage=storage, replicas=(registry,)).run()


async def test_the_storage_of_another_registry_is_refused() -> None:
    other = StorageRegistry(MemoryStorage())
    world = SweepWorld(replicas=(other,))
    StorageRegistry(world.storage).image("a", "v1")
    with pytest.raises(NoRegistry, match="storage of another registry"):
        await world.run()


async def test_the_second_replica_is_probed_as_well() -> None:
    storage = MemoryStorage()
    good, bad = StorageRegistry(storage), StorageRegistry(storage, has_cache=True, can_delete=False)
    good.image("a", "v1")
    with pytest.raises(ProbeFailed):
        await SweepWorld(storage=storage, replicas=(good, bad)).run()
    assert not [one for one in storage.objects if PROBE_REPOSITORY in one]
