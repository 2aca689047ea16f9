"""The probe image: registries that a sweep may be done on, and those that would lose images."""

import pytest

from lading.ports import registry as registries
from lading.ports import storage as storages
from lading.pruning.engine.inventory.observe_storage import NoRegistry
from lading.pruning.sweep import layout
from lading.pruning.sweep.probe import PROBE_REPOSITORY, ProbeFailed
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
    assert not [name for name, _ in registry._cache if name == PROBE_REPOSITORY]


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


@pytest.mark.parametrize("name", [PROBE_REPOSITORY, f"{PROBE_REPOSITORY}/below"])
async def test_other_images_where_the_probe_is_pushed_stay(swept: SweepWorld, name: str) -> None:
    """--probe-repository may name a repository that is in use, or a folder of them."""
    images = [swept.registry.image(name, tag, [tag.encode()]) for tag in ("v1", "probe")]
    untagged = swept.registry.image(name, layers=[b"untagged"])
    swept.registry.write(f"{layout.REPOSITORIES}/{name}/_uploads/young/data", b"")
    before = {one for one in swept.storage.objects if one.startswith(layout.ROOT)}
    await swept.run()
    assert {one for one in swept.storage.objects if one.startswith(layout.ROOT)} == before
    assert all(swept.registry.can_pull(name, one) for one in (*images, untagged))


async def test_the_probe_of_a_run_that_was_cut_off_goes(swept: SweepWorld) -> None:
    kept = swept.registry.image("a", "v1")
    swept.registry.image(PROBE_REPOSITORY, f"lading-probe-{'01' * 8}", [b"left behind"])
    names = ("lading", "lading-probe-0123", f"lading-probe-{'01' * 9}", f"lading-probe-{'xy' * 8}")
    user = [swept.registry.image(PROBE_REPOSITORY, one, [one.encode()]) for one in names]
    await swept.whole()
    assert swept.registry.can_pull("a", kept)
    assert all(swept.registry.can_pull(PROBE_REPOSITORY, one) for one in user)
    assert len(swept.blobs) == 3 * (1 + len(user)), "three of each image"


async def test_who_may_push_and_not_pull_is_refused_for_that(
    swept: SweepWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not for a cache that loses images: nothing was swept yet."""
    swept.registry.image("a", "v1")
    before = {one for one in swept.storage.objects if one.startswith(layout.ROOT)}

    async def denied(*_place: object, **_more: object) -> bytes:
        raise registries.Denied("403: pull access denied", status=403)

    monkeypatch.setattr(swept.registry, "blob", denied)
    with pytest.raises(ProbeFailed, match="the probe image failed: 403") as caught:
        await swept.run()
    assert "loses images" not in str(caught.value)
    assert {one for one in swept.storage.objects if one.startswith(layout.ROOT)} == before


class _BelowTheRoot(set[str]):
    """Every path of the registry."""

    def __contains__(self, path: object) -> bool:
        return str(path).startswith(layout.ROOT)


async def test_without_the_right_to_delete_nothing_else_is_changed(swept: SweepWorld) -> None:
    """Nor is another probe image pushed by the next run."""
    swept.registry.image("a", "v1")
    orphan = swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=25)
    swept.storage.locked = _BelowTheRoot()
    left: list[set[str]] = []
    for _ in range(2):
        with pytest.raises(storages.Denied, match="locked"):
            await swept.run()
        left.append(set(swept.storage.objects))
    assert swept.has_layer("a", orphan)
    assert left[0] == left[1]
