"""Sweeps that are cut off, lose their lock, or find no space."""

import json
from datetime import timedelta
from typing import Any

import pytest

from lading.ports import storage as storages
from lading.pruning.engine.inventory.observe_storage import revision_link
from lading.pruning.sweep import layout, lock
from lading.pruning.sweep.lock import SweepInProgress
from lading.pruning.sweep.probe import PROBE_REPOSITORY
from tests.pruning.sweep.memory_storage import CutOff, MemoryStorage
from tests.pruning.sweep.storage_registry import StorageRegistry
from tests.pruning.sweep.worlds import OTHER_HOLDER, STATE, SweepWorld


@pytest.mark.parametrize("offline", [False, True])
async def test_a_run_that_is_cut_off_anywhere_is_resumed(offline: bool) -> None:
    """Every change of three runs in turn is the last before the end of the process."""
    cut = 0
    while True:
        world = SweepWorld(untagged=True, with_probe=False)
        world.registry.image("a", "v1", [b"before", b"shared"])
        kept = world.registry.image("a", "v1", [b"kept", b"shared"])
        world.registry.image("a", layers=[b"untagged", b"shared"])
        again = world.registry.image("b", layers=[b"again"])
        orphan = world.registry.upload("b", b"orphan")
        world.registry.write(layout.layer_link("b", f"sha512:{'cd' * 64}"), orphan.encode())
        world.registry.write(f"{layout.REPOSITORIES}/b/_uploads/old/startedat", b"")
        world.storage.pass_time(hours=200)
        world.storage.changes_max = cut
        world.settings = {"second_look_after": timedelta(seconds=1)}
        is_cut = await _cut_off(world, offline=offline)
        assert world.registry.can_pull("a", kept), cut
        if not offline:
            tagged = world.push_again("b", "again", [b"again"])
            assert tagged == again
        for _ in range(3):
            world.storage.pass_time(hours=25)
            await world.run(offline=offline)
        assert world.registry.can_pull("a", kept), cut
        needed = {kept, *map(world.digest, (b"kept", b"shared", b"config [b'kept', b'shared']"))}
        if not offline:
            assert world.registry.can_pull("b", again), cut
            needed |= {again, *map(world.digest, (b"again", b"config [b'again']"))}
        assert world.blobs == {layout.data_path(one) for one in needed}, cut
        left = {one for one in world.storage.objects if f"/{layout.BLOBS}/" not in one}
        assert not [one for one in left if layout.ASIDE in one or "/_uploads/" in one], cut
        assert not [one for one in left if "/sha512/" in one], cut
        if not is_cut:
            break
        cut += 1
    assert cut > 20


async def _cut_off(world: SweepWorld, *, offline: bool = False) -> bool:
    """Whether one of three runs came to the last change; its lock is stale by then."""
    is_cut = False
    for _ in range(3):
        world.storage.pass_time(hours=25)
        try:
            await world.run(offline=offline)
        except CutOff:
            is_cut = True
            break
    world.storage.changes_max = None
    world.storage.objects.pop(lock.PATH, None)
    return is_cut


@pytest.mark.parametrize("has_cache", [False, True])
async def test_a_probe_that_is_cut_off_anywhere_leaves_nothing(has_cache: bool) -> None:
    cut = 0
    while True:
        storage = MemoryStorage()
        registry = StorageRegistry(storage, has_cache=has_cache)
        world = SweepWorld(storage=storage, replicas=(registry,))
        kept = registry.image("a", "v1")
        beside = registry.image(PROBE_REPOSITORY, "v1", [b"of a user"])
        before = {one for one in storage.objects if one.startswith(layout.ROOT)}
        storage.changes_max = cut
        is_cut = await _cut_off(world)
        registry._cache.clear()  # a restart
        for _ in range(3):
            storage.pass_time(hours=25)
            await world.run()
        assert registry.can_pull("a", kept), cut
        assert registry.can_pull(PROBE_REPOSITORY, beside), cut
        assert {one for one in storage.objects if one.startswith(layout.ROOT)} == before, cut
        if not is_cut:
            break
        cut += 1
    assert cut > 20


@pytest.mark.parametrize("offline", [False, True])
async def test_a_run_that_lost_its_lock_while_it_was_listing_changes_nothing(
    swept: SweepWorld, offline: bool
) -> None:
    """As a machine that sleeps for an hour, while another one sweeps."""
    swept.registry.image("a", "v1")
    swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=25)
    before = set(swept.storage.objects)

    def lose(prefix: str) -> None:
        if prefix == layout.ROOT:
            swept.registry.write(lock.PATH, OTHER_HOLDER)

    swept.storage.after_list = lose
    with pytest.raises(SweepInProgress, match="took over"):
        await swept.run(offline=offline)
    assert set(swept.storage.objects) == before | {lock.PATH}


async def test_a_run_that_lost_its_lock_moves_nothing_aside(swept: SweepWorld) -> None:
    swept.registry.image("b", "v1")
    digest = swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=25)
    await swept.run()
    swept.registry.upload("a", b"another, so that the state is written")
    swept.storage.pass_time(hours=25)

    def lose(path: str) -> None:
        if path == STATE:
            swept.registry.write(lock.PATH, OTHER_HOLDER)

    swept.storage.before_change = lose
    with pytest.raises(SweepInProgress, match="took over"):
        await swept.run()
    assert swept.has_data(digest)


async def test_a_run_that_lost_its_lock_deletes_nothing_that_is_aside(swept: SweepWorld) -> None:
    swept.registry.image("b", "v1")
    digest = swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=25)
    await swept.run()
    swept.storage.pass_time(hours=25)
    swept.on_sleep = lambda: swept.registry.write(lock.PATH, OTHER_HOLDER)
    with pytest.raises(SweepInProgress, match="took over"):
        await swept.run()
    assert layout.aside_path(digest) in swept.storage.objects


async def test_a_list_that_breaks_off_changes_nothing(swept: SweepWorld) -> None:
    swept.registry.image("a", "v1")
    swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=25)
    before = set(swept.storage.objects)

    def break_off(prefix: str) -> None:
        if prefix == layout.ROOT:
            raise storages.Unavailable("503")

    swept.storage.after_list = break_off
    with pytest.raises(storages.Unavailable):
        await swept.run(offline=True)
    assert {one for one in swept.storage.objects if not one.startswith(layout.OWN)} == before


@pytest.mark.parametrize("offline", [False, True])
async def test_a_full_storage_is_freed_offline_and_not_changed_otherwise(
    swept: SweepWorld, offline: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = swept.registry.image("b", "v1")
    digest = swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=25)

    async def put(path: str, _content: bytes, **_more: object) -> None:
        raise storages.Full(path)

    monkeypatch.setattr(swept.storage, "put", put)
    before = set(swept.storage.objects)
    if offline:
        await swept.run(offline=True)
        assert not swept.has_data(digest)
        assert swept.registry.can_pull("b", kept)
        return
    with pytest.raises(storages.Full):
        await swept.run()
    assert set(swept.storage.objects) == before


async def test_a_registry_in_use_is_not_swept_without_a_lock(
    swept: SweepWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full when the lock is taken, and has space again right after."""
    swept.registry.image("b", "v1")
    swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=25)
    whole = swept.storage.put

    async def put(path: str, content: bytes, **more: Any) -> None:
        if path == lock.PATH:
            raise storages.Full(path)
        await whole(path, content, **more)

    monkeypatch.setattr(swept.storage, "put", put)
    before = set(swept.storage.objects)
    with pytest.raises(storages.Full):
        await swept.run()
    assert set(swept.storage.objects) == before


async def test_data_that_cannot_be_put_back_stays_aside_and_holds_up_nothing(
    swept: SweepWorld,
) -> None:
    swept.registry.image("b", "v1")
    stuck, free = (swept.registry.upload("a", one) for one in (b"1", b"2"))
    orphan = swept.registry.upload("a", b"3")
    for one in (stuck, free):
        moved = swept.storage.objects.pop(layout.data_path(one))
        swept.storage.objects[layout.aside_path(one)] = moved

    def refuse(path: str) -> None:
        if path == layout.data_path(stuck):
            raise storages.Denied(f"{path}: locked")

    swept.storage.before_change = refuse
    for offline in (False, True):
        counts = (await swept.run(offline=offline)).counts
        assert layout.aside_path(stuck) in swept.storage.objects
        assert swept.has_data(free)
        assert "locked" in counts.failures[0]
    swept.storage.before_change = lambda _path: None
    assert (await swept.run()).counts.put_back == 1
    assert swept.has_data(stuck)
    await swept.whole()
    assert not swept.has_data(orphan)


@pytest.mark.parametrize("offline", [False, True])
async def test_a_link_that_cannot_be_restored_is_remembered_and_holds_up_nothing(
    swept: SweepWorld, offline: bool
) -> None:
    swept.untagged = True
    swept.registry.image("c", "v1")
    first, second = (swept.registry.image(one, layers=[one.encode()]) for one in ("a", "b"))
    swept.storage.pass_time(hours=25)
    await swept.run()
    swept.registry.tag("a", "again", first)
    swept.registry.tag("b", "again", second)
    swept.storage.pass_time(hours=1)  # and not because of late deletions

    def refuse(path: str) -> None:
        if path == revision_link("a", first):
            raise storages.Denied(f"{path}: locked")

    swept.storage.before_change = refuse
    counts = (await swept.run(offline=offline)).counts
    assert counts.failed
    assert swept.registry.can_pull("b", second)
    assert not swept.registry.can_pull("a", first)
    swept.storage.before_change = lambda _path: None
    assert (await swept.run(offline=offline)).counts.restored == 1
    assert swept.registry.can_pull("a", first)


async def test_a_repository_that_cannot_be_looked_at_holds_up_no_other(swept: SweepWorld) -> None:
    swept.registry.image("c", "v1")
    first, second = swept.registry.upload("a", b"1"), swept.registry.upload("b", b"2")
    swept.storage.pass_time(hours=25)

    def refuse(prefix: str) -> None:
        if prefix == layout.revisions_folder("a"):
            raise storages.Unavailable(f"{prefix}: 503")

    swept.storage.after_list = refuse
    counts = (await swept.run()).counts
    assert (counts.condemned, counts.links, counts.failed) == (1, 1, 1)
    assert swept.has_layer("a", first)
    assert not swept.has_layer("b", second)


async def test_a_manifest_that_comes_and_cannot_be_read_now_holds_up_no_other_repository(
    swept: SweepWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept.registry.image("c", "v1")
    first, second = swept.registry.upload("a", b"1"), swept.registry.upload("b", b"2")
    swept.storage.pass_time(hours=25)
    pushed: list[str] = []
    whole = swept.storage.read

    def push(path: str) -> None:
        if path == STATE and not pushed:
            swept.storage.pass_time(seconds=1)
            pushed.append(swept.registry.index("a", [], "v1"))

    async def read(path: str, *, bytes_max: int) -> bytes:
        if pushed and path == layout.data_path(pushed[0]) and swept.has_layer("b", second):
            raise storages.Unavailable(f"{path}: 503")
        return await whole(path, bytes_max=bytes_max)

    swept.storage.before_change = push
    monkeypatch.setattr(swept.storage, "read", read)
    counts = (await swept.run()).counts
    assert (counts.condemned, counts.failed) == (1, 1)
    assert "503" in counts.failures[0]
    assert swept.has_layer("a", first)
    assert not swept.has_layer("b", second)


async def test_history_and_uploads_that_cannot_be_listed_are_counted(swept: SweepWorld) -> None:
    swept.untagged = True
    swept.registry.image("a", "v1", [b"1"])
    kept = swept.registry.image("a", "v1", [b"2"])
    swept.registry.write(f"{layout.REPOSITORIES}/a/_uploads/old/startedat", b"")
    swept.storage.pass_time(hours=200)

    def refuse(prefix: str) -> None:
        if prefix.endswith(("/tags", "/_uploads/old")):
            raise storages.Unavailable(f"{prefix}: 503")

    swept.storage.after_list = refuse
    counts = (await swept.run(offline=True)).counts
    assert (counts.failed, counts.freed_blobs, counts.uploads) == (2, 3, 0)
    assert swept.registry.can_pull("a", kept)


async def test_offline_data_stays_with_a_link_that_cannot_be_removed(swept: SweepWorld) -> None:
    swept.registry.image("b", "v1")
    held, free = (swept.registry.upload("a", one) for one in (b"1", b"2"))
    swept.storage.locked = {layout.layer_link("a", held)}
    counts = (await swept.offline()).counts
    assert (counts.failed, counts.freed_blobs) == (1, 1)
    assert swept.has_data(held)
    assert not swept.has_data(free)


@pytest.mark.parametrize("offline", [False, True])
async def test_a_manifest_with_a_link_that_cannot_be_removed_keeps_all_that_it_needs(
    swept: SweepWorld, offline: bool
) -> None:
    """A registry would list a manifest that it cannot send."""
    swept.untagged = True
    swept.registry.image("b", "v1")
    child, other = (swept.registry.image("a", layers=[one]) for one in (b"1", b"2"))
    index = swept.registry.index("a", [child])
    swept.storage.locked = {revision_link("a", index)}
    for _ in range(3):
        swept.storage.pass_time(hours=25)
        counts = (await swept.run(offline=offline)).counts
        assert (counts.failed, counts.condemned) in ((1, 0), (1, 3))
        assert swept.registry.can_pull("a", index)
    assert not swept.has_data(other)
    swept.storage.locked = set()
    await (swept.offline() if offline else swept.whole())
    assert len(swept.blobs) == 3, "the image of `b`"


@pytest.mark.parametrize("offline", [False, True])
async def test_a_copy_aside_of_data_in_its_place_is_not_counted(
    swept: SweepWorld, offline: bool
) -> None:
    """As a copy that the storage finished after the run had given it up."""
    swept.registry.image("b", "v1")
    digest = swept.registry.upload("a", b"1")
    del swept.storage.objects[layout.layer_link("a", digest)]
    swept.storage.pass_time(hours=25)
    swept.registry.write(layout.aside_path(digest), b"1")
    swept.storage.pass_time(hours=1)
    counts = (await swept.run(offline=offline)).counts
    assert counts.freed_blobs == (1 if offline else 0)
    assert swept.has_data(digest) is not offline
    assert layout.aside_path(digest) not in swept.storage.objects


async def test_a_copy_aside_of_what_is_moved_aside_now_is_counted_once(swept: SweepWorld) -> None:
    swept.registry.image("b", "v1")
    digest = swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=25)
    await swept.run()
    swept.registry.write(layout.aside_path(digest), b"1")
    swept.storage.pass_time(hours=25)
    counts = (await swept.run()).counts
    assert (counts.freed_blobs, counts.freed_bytes) == (1, 1)
    assert json.loads(swept.storage.objects[STATE][0])["condemned"] == {}


async def test_a_state_that_cannot_be_written_at_the_end_keeps_the_counts(
    swept: SweepWorld,
) -> None:
    swept.registry.image("b", "v1")
    digest = swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=25)
    await swept.run()
    swept.storage.pass_time(hours=25)

    def refuse(path: str) -> None:
        if path == STATE:
            raise storages.Unavailable(f"{path}: 503")

    swept.storage.before_change = refuse
    counts = (await swept.run()).counts
    assert (counts.freed_blobs, counts.failed) == (1, 1)
    assert not swept.has_data(digest)
    swept.storage.before_change = lambda _path: None
    await swept.run()
    assert json.loads(swept.storage.objects[STATE][0])["condemned"] == {}
