"""Sweeps while the registry is in use: no push is lost, wherever a run is cut off."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from lading.ports import kube
from lading.ports import registry as registries
from lading.ports import storage as storages
from lading.ports.storage import StoredObject
from lading.pruning.engine.guards import SMALL_PLAN, Guard, GuardRefused, Limits
from lading.pruning.engine.observe import ReferencesIncomplete
from lading.pruning.engine.observe_storage import DATABASE_IN_USE, NoRegistry, revision_link
from lading.pruning.engine.observe_streams import NoImageStreams
from lading.pruning.sweep import layout, lock
from lading.pruning.sweep.apply import FAILURES_SHOWN_MAX, SweepCounts
from lading.pruning.sweep.lock import SweepInProgress
from lading.pruning.sweep.types import BlobReason
from tests.pruning.fake_clusters import PODS, FakeCluster, kind
from tests.pruning.sweep.memory_storage import START, CutOff, MemoryStorage
from tests.pruning.sweep.storage_registry import StorageRegistry, image_content
from tests.pruning.sweep.worlds import STATE, SweepWorld

OTHER = b'{"token": "other", "host": "elsewhere", "pid": 1}'
"""A lock that another sweep has taken over."""
STREAM_KINDS = ("images", "imagestreams")


def push_again(world: SweepWorld, name: str, tag: str, layers: list[bytes]) -> str:
    """As a client does it: without what the registry has, and once more when it is refused."""
    registry = world.registry
    for _ in range(2):
        contents = [f"config {layers!r}".encode(), *layers]
        digests = []
        for content in contents:
            digest = world.digest(content)
            if not registry._has(name, digest):
                registry.upload(name, content)
            digests.append(digest)
        with suppress(registries.MalformedAnswer):
            return registry.put_manifest(name, image_content(digests[0], digests[1:]), tag)
    raise AssertionError("a push that is repeated succeeds")


async def test_times_beyond_the_calendar_of_the_columns_are_old_and_young(
    swept: SweepWorld,
) -> None:
    """A copy of a storage may have lost its times."""
    swept.registry.image("a", "v1")
    old, young = (swept.registry.upload("a", one) for one in (b"of 1960", b"of 2200"))
    for digest, year in ((old, 1960), (young, 2200)):
        for path in (layout.data_path(digest), layout.layer_link("a", digest)):
            content, _ = swept.storage.objects[path]
            swept.storage.objects[path] = content, START.replace(year=year)
    found = await swept.reasons()
    assert (found[old], found[young]) == (BlobReason.CONDEMNED, BlobReason.YOUNG)


async def test_what_nothing_needs_is_condemned_and_goes_a_grace_period_later(
    swept: SweepWorld,
) -> None:
    kept = swept.registry.image("a", "v1")
    digest = swept.registry.upload("a", b"orphan")
    swept.storage.pass_time(hours=25)
    first = (await swept.run()).counts
    assert (first.condemned, first.links, first.freed_blobs) == (1, 1, 0)
    assert swept.has_data(digest)
    assert not swept.has_layer("a", digest)
    swept.storage.pass_time(hours=23)
    assert (await swept.reasons())[digest] is BlobReason.WAITING
    assert (await swept.run()).counts.freed_blobs == 0
    swept.storage.pass_time(hours=2)
    last = (await swept.run()).counts
    assert (last.freed_blobs, last.freed_bytes) == (1, len(b"orphan"))
    assert not swept.has_data(digest)
    assert swept.registry.can_pull("a", kept)
    assert json.loads(swept.storage.objects[STATE][0])["condemned"] == {}


async def test_a_client_uploads_again_what_is_condemned(swept: SweepWorld) -> None:
    swept.registry.image("b", "v1")
    swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=25)
    await swept.run()
    image = push_again(swept, "a", "v1", [b"1"])
    await swept.whole()
    assert swept.registry.can_pull("a", image)


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


async def test_a_manifest_of_a_repository_without_the_link_gets_one(swept: SweepWorld) -> None:
    """A cache answers for a layer in a repository that never had it in the storage."""
    swept.registry.image("c", "v1")
    layer, config = swept.registry.upload("a", b"1"), swept.registry.upload("b", b"{}")
    swept.storage.pass_time(hours=25)
    await swept.run()
    swept.registry._cache |= {("b", layer), ("b", config)}
    swept.registry.has_cache = True
    image = swept.registry.put_manifest("b", image_content(config, [layer]), "v1")
    swept.registry.has_cache = False
    assert not swept.registry.can_pull("b", image)
    await swept.run()
    assert swept.registry.can_pull("b", image)


async def test_a_manifest_that_nothing_needs_gets_no_links(swept: SweepWorld) -> None:
    """What it names is needed again, but in another repository."""
    swept.untagged = True
    swept.registry.image("c", "v1")
    layer, config = swept.registry.upload("a", b"1"), swept.registry.upload("a", b"{}")
    swept.storage.pass_time(hours=25)
    await swept.run()
    swept.registry._cache |= {(name, one) for name in ("a", "b") for one in (layer, config)}
    swept.registry.put_manifest("b", image_content(config, [layer], annotations={"of": "b"}))
    swept.storage.pass_time(hours=25)
    image = swept.registry.put_manifest("a", image_content(config, [layer]), "v1")
    swept.registry._cache.clear()
    assert (await swept.run()).counts.restored == 2
    assert swept.registry.can_pull("a", image)
    assert not swept.has_layer("b", layer)


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


async def test_a_registry_forgets_the_manifests_that_it_caches() -> None:
    """Otherwise it accepts an index with a child that it cannot send."""
    storage = MemoryStorage()
    registry = StorageRegistry(storage, has_cache=True)
    world = SweepWorld(storage=storage, replicas=(registry,), untagged=True)
    registry.image("b", "v1")
    child = registry.image("a", layers=[b"1"])
    storage.pass_time(hours=25)
    await world.run()
    assert world.has_data(child)
    with pytest.raises(registries.MalformedAnswer):
        registry.index("a", [child], "v1")


async def test_a_manifest_that_a_replica_still_answers_for_stays() -> None:
    storage = MemoryStorage()
    registry = StorageRegistry(storage, has_cache=True)
    world = SweepWorld(storage=storage, replicas=(registry,), untagged=True)
    registry.image("b", "v1")
    child = registry.image("a", layers=[b"1"])
    storage.pass_time(hours=25)
    await world.run()
    registry._cache.add(("a", child))
    storage.pass_time(hours=25)
    assert (await world.run()).counts.answered == [child]
    assert world.has_data(child)


def test_builders_have_the_digest_of_content(swept: SweepWorld) -> None:
    assert swept.registry.upload("a", b"1") == swept.digest(b"1")


async def test_loss_11_a_link_between_the_last_look_and_the_deletion(swept: SweepWorld) -> None:
    """An upload finds the data, the data is moved aside, and then the upload writes its link."""
    swept.registry.image("b", "v1")
    digest = swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=25)
    await swept.run()
    swept.storage.pass_time(hours=25)
    linked = False

    def link() -> None:
        nonlocal linked
        assert not swept.has_data(digest), "it is aside"
        swept.registry.write(layout.layer_link("a", digest), digest.encode())
        linked = True

    swept.on_sleep = link
    counts = (await swept.run()).counts
    assert linked
    assert (counts.put_back, counts.freed_blobs) == (1, 0)
    assert swept.has_data(digest)
    assert swept.has_layer("a", digest)


async def test_loss_11_a_manifest_between_the_last_look_and_the_deletion(swept: SweepWorld) -> None:
    """The manifest is put back, read, and what it needs is put back as well."""
    image = swept.registry.image("a", "v1", [b"1"])
    swept.registry.image("b", "v1", [b"2"])
    content = swept.storage.objects[layout.data_path(image)][0]
    layer = swept.digest(b"1")
    swept.registry.delete_manifest("a", image)
    swept.storage.pass_time(hours=25)
    await swept.run()
    swept.storage.pass_time(hours=25)

    def link() -> None:
        assert not swept.has_data(layer)
        swept.registry.write(revision_link("a", image), image.encode())

    swept.on_sleep = link
    await swept.run()
    assert swept.storage.objects[layout.data_path(image)][0] == content
    assert swept.registry.can_pull("a", image)


async def test_loss_3544_old_data_that_is_named_again_during_the_list(swept: SweepWorld) -> None:
    """A push needs an old blob after its repository was listed, before its links go."""
    swept.registry.image("b", "v1")
    swept.registry.upload("a", b"1")
    swept.registry.upload("a", b"config [b'1']")
    swept.storage.pass_time(hours=25)
    pushed: list[str] = []

    def push(path: str) -> None:
        if path == STATE and not pushed:
            swept.storage.pass_time(seconds=1)
            pushed.append(push_again(swept, "a", "v1", [b"1"]))

    swept.storage.before_change = push
    counts = (await swept.run()).counts
    assert pushed
    assert (counts.links, counts.restored) == (0, 0), "no link of it was ever missing"
    assert swept.registry.can_pull("a", pushed[0])
    await swept.whole()
    assert swept.registry.can_pull("a", pushed[0])


async def test_an_untagged_manifest_that_is_pushed_again_before_its_links_go_keeps_them(
    swept: SweepWorld,
) -> None:
    swept.untagged = True
    swept.registry.image("b", "v1")
    image = swept.registry.image("a", layers=[b"1"])
    swept.storage.pass_time(hours=25)

    def push(path: str) -> None:
        if path == STATE:
            swept.storage.pass_time(seconds=1)
            assert push_again(swept, "a", "v1", [b"1"]) == image

    def check() -> None:
        assert swept.registry.can_pull("a", image)

    swept.storage.before_change = push
    swept.on_sleep = check
    counts = (await swept.run()).counts
    assert (counts.links, counts.restored) == (0, 0), "no link of it was ever missing"


async def test_a_manifest_that_was_checked_before_its_links_went_gets_them_back(
    swept: SweepWorld,
) -> None:
    swept.registry.image("b", "v1")
    layer, config = swept.registry.upload("a", b"1"), swept.registry.upload("a", b"{}")
    swept.storage.pass_time(hours=25)
    content = image_content(config, [layer])
    digest = swept.digest(content)

    def write() -> None:
        swept.registry.write(layout.data_path(digest), content)
        swept.registry.write(revision_link("a", digest), digest.encode())

    swept.on_sleep = write
    assert (await swept.run()).counts.restored == 2
    assert swept.registry.can_pull("a", digest)
    assert json.loads(swept.storage.objects[STATE][0])["condemned"] == {}


async def test_a_manifest_that_comes_while_its_links_go_gets_them_back_at_once(
    swept: SweepWorld,
) -> None:
    """Not only by the second look, which comes half a minute later."""
    swept.registry.image("b", "v1")
    layer, config = swept.registry.upload("a", b"1"), swept.registry.upload("a", b"{}")
    swept.storage.pass_time(hours=25)
    content = image_content(config, [layer])
    digest = swept.digest(content)

    def write(path: str) -> None:
        if path == layout.layer_link("a", layer) and not swept.has_data(digest):
            swept.storage.pass_time(seconds=1)
            swept.registry.write(layout.data_path(digest), content)
            swept.registry.write(revision_link("a", digest), digest.encode())

    def check() -> None:
        assert swept.registry.can_pull("a", digest)

    swept.storage.before_change = write
    swept.on_sleep = check
    assert (await swept.run()).counts.restored == 2


@pytest.mark.parametrize("is_alias", [False, True])
async def test_a_manifest_that_comes_and_cannot_be_followed_keeps_the_links_of_its_repository(
    swept: SweepWorld, is_alias: bool
) -> None:
    swept.registry.image("b", "v1")
    layer = swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=25)

    def come(path: str) -> None:
        if path == STATE:
            swept.storage.pass_time(seconds=1)
            if is_alias:
                other = f"sha512:{'cd' * 64}"
                swept.registry.write(revision_link("a", other), layer.encode())
            else:
                swept.registry.put_manifest("a", b'{"mediaType": "application/x-unknown"}')

    swept.storage.before_change = come
    await swept.run()
    assert swept.has_layer("a", layer)


async def test_what_a_run_that_was_cut_off_left_aside_gets_its_links_back(
    swept: SweepWorld,
) -> None:
    """The registry had found the data before it was moved, and writes the manifest now."""
    swept.registry.image("b", "v1")
    layer, config = swept.registry.upload("a", b"1"), swept.registry.upload("a", b"{}")
    content = image_content(config, [layer])
    digest = swept.digest(content)
    swept.storage.pass_time(hours=25)
    await swept.run()
    for one in (layer, config):
        moved = swept.storage.objects.pop(layout.data_path(one))
        swept.storage.objects[layout.aside_path(one)] = moved

    def write() -> None:
        swept.registry.write(layout.data_path(digest), content)
        swept.registry.write(revision_link("a", digest), digest.encode())

    swept.on_sleep = write
    counts = (await swept.run()).counts
    assert (counts.put_back, counts.restored) == (2, 2)
    assert swept.registry.can_pull("a", digest)


async def test_what_is_condemned_anew_keeps_the_links_that_it_had(swept: SweepWorld) -> None:
    swept.registry.image("c", "v1")
    for name in ("a", "b"):
        digest = swept.registry.upload(name, b"1")
    swept.storage.pass_time(hours=25)
    await swept.run()
    swept.registry.upload("b", b"1")
    swept.storage.pass_time(hours=25)
    await swept.run()
    state = json.loads(swept.storage.objects[STATE][0])
    assert state["condemned"][digest]["layers"] == ["a", "b"]


async def test_what_was_used_again_and_no_longer_is_waits_anew(swept: SweepWorld) -> None:
    """Also where it has no link by then, which would show that it is not condemned."""
    swept.registry.image("b", "v1")
    digest = swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=25)
    await swept.run()
    image = push_again(swept, "a", "v1", [b"1"])
    await swept.run()
    assert json.loads(swept.storage.objects[STATE][0])["condemned"] == {}
    swept.registry.delete_manifest("a", image)
    del swept.storage.objects[layout.layer_link("a", digest)]
    swept.storage.pass_time(hours=25)
    assert (await swept.reasons())[digest] is BlobReason.CONDEMNED


async def test_what_another_deleted_is_no_longer_condemned(swept: SweepWorld) -> None:
    swept.registry.image("b", "v1")
    digest = swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=25)
    await swept.run()
    del swept.storage.objects[layout.data_path(digest)]
    await swept.run()
    assert json.loads(swept.storage.objects[STATE][0])["condemned"] == {}


async def test_an_untagged_manifest_that_is_tagged_again_gets_its_link_back(
    swept: SweepWorld,
) -> None:
    swept.untagged = True
    image = swept.registry.image("a", layers=[b"1"])
    swept.registry.image("b", "v1", [b"2"])
    swept.storage.pass_time(hours=25)
    await swept.run()
    assert not swept.registry.can_pull("a", image)
    swept.registry.tag("a", "again", image)
    await swept.run()
    assert swept.registry.can_pull("a", image)
    await swept.whole()
    assert swept.registry.can_pull("a", image)


async def test_an_untagged_index_that_is_tagged_again_gets_its_child_back_as_a_manifest(
    swept: SweepWorld,
) -> None:
    swept.untagged = True
    child = swept.registry.image("a", layers=[b"1"])
    index = swept.registry.index("a", [child])
    swept.registry.image("b", "v1", [b"2"])
    swept.storage.pass_time(hours=25)
    await swept.run()
    swept.registry.tag("a", "again", index)
    await swept.run()
    assert swept.registry.can_pull("a", index)
    assert not swept.has_layer("a", child)


async def test_a_child_that_was_deleted_and_came_back_elsewhere_is_a_manifest(
    swept: SweepWorld,
) -> None:
    """A cache answers for it in `b`, where it had a link before it was deleted."""
    child = swept.registry.image("a", layers=[b"1"])
    swept.registry.delete_manifest("a", child)
    content = swept.storage.objects[layout.data_path(child)][0]
    swept.registry.image("c", "v1", [b"2"])
    swept.storage.pass_time(hours=25)
    await swept.run()
    swept.registry._cache |= {("b", child)}
    swept.registry.index("b", [child], "v1")
    swept.registry._cache.clear()
    swept.registry.image("d", layers=[b"1"])
    assert swept.registry.put_manifest("d", content) == child
    await swept.run()
    assert swept.registry.has(revision_link("b", child))
    assert not swept.has_layer("b", child)


async def test_what_the_storage_cannot_move_waits_for_offline(swept: SweepWorld) -> None:
    swept.storage.copy_bytes_max = 3
    swept.registry.image("b", "v1")
    digest, fits = (swept.registry.upload("a", one) for one in (b"large", b"fit"))
    await swept.whole()
    assert not swept.has_layer("a", digest), "it is condemned as any other"
    assert not swept.has_data(fits)
    swept.storage.pass_time(hours=25)
    assert (await swept.reasons())[digest] is BlobReason.TOO_LARGE
    await swept.run(offline=True)
    assert not swept.has_data(digest)


async def test_a_deletion_that_fails_is_counted_and_done_later(swept: SweepWorld) -> None:
    swept.registry.image("b", "v1")
    digests = [swept.registry.upload("a", one) for one in (b"1", b"22")]
    swept.storage.locked = {layout.aside_path(digests[0])}
    await swept.whole()
    swept.storage.locked = set()
    assert layout.aside_path(digests[0]) in swept.storage.objects
    counts = (await swept.run()).counts
    assert (counts.freed_blobs, counts.freed_bytes) == (1, 1)
    assert layout.aside_path(digests[0]) not in swept.storage.objects


async def test_a_failure_has_true_counts(swept: SweepWorld) -> None:
    swept.registry.image("b", "v1")
    digests = [swept.registry.upload("a", one) for one in (b"1", b"22")]
    swept.storage.pass_time(hours=25)
    swept.storage.locked = {layout.data_path(digests[1])}
    counts = (await swept.run(offline=True)).counts
    assert (counts.freed_blobs, counts.freed_bytes, counts.failed) == (1, 1, 1)
    assert "locked" in counts.failures[0]


async def test_links_of_several_repositories_are_all_counted(swept: SweepWorld) -> None:
    """They are removed at the same time, and so is the history of their tags."""
    swept.untagged = True
    for name in ("a", "b", "c"):
        swept.registry.image(name, "v1", [name.encode()])
        swept.registry.image(name, "v1", [b"newer"])
    swept.storage.pass_time(hours=25)
    before = len(swept.storage.objects)
    first = (await swept.run()).counts
    swept.storage.pass_time(hours=25)
    second = (await swept.run()).counts
    removed = first.links + second.links + second.freed_blobs
    own = {f"{layout.OWN}/manifests", STATE}
    assert before - len(swept.storage.objects.keys() - own) == removed
    assert (first.links, second.links) == (9, 3)


@pytest.mark.parametrize("offline", [False, True])
async def test_a_run_that_is_cut_off_anywhere_is_resumed(offline: bool) -> None:
    """Every change of two runs in turn is the last before the end of the process."""
    cut = 0
    while True:
        world = SweepWorld(untagged=True, with_probe=False)
        kept = world.registry.image("a", "v1", [b"kept", b"shared"])
        world.registry.image("a", layers=[b"untagged", b"shared"])
        again = world.registry.image("b", layers=[b"again"])
        world.registry.upload("b", b"orphan")
        world.storage.changes_max = cut
        world.settings = {"second_look_after": timedelta(seconds=1)}
        is_cut = False
        for _ in range(3):
            world.storage.pass_time(hours=25)
            try:
                await world.run(offline=offline)
            except CutOff:
                is_cut = True
                break
        world.storage.changes_max = None
        world.storage.objects.pop(f"{layout.OWN}/lock", None)
        assert world.registry.can_pull("a", kept), cut
        if not offline:
            tagged = push_again(world, "b", "again", [b"again"])
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
        assert not [one for one in world.storage.objects if one.startswith(layout.ASIDE)]
        if not is_cut:
            break
        cut += 1
    assert cut > 20


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        ({}, "nothing in docker/registry/v2/repositories"),
        ({DATABASE_IN_USE: b""}, "database-in-use"),
        ({"zot/index.json": b"{}"}, "nothing in docker/registry/v2/repositories"),
    ],
)
async def test_what_is_no_registry_is_refused(
    swept: SweepWorld, prepare: dict[str, bytes], message: str
) -> None:
    for path, content in prepare.items():
        swept.registry.write(path, content)
    for sweeping in (swept.sweeper().preview(), swept.run(), swept.run(offline=True)):
        with pytest.raises(NoRegistry, match=message):
            await sweeping
    assert swept.storage.changes == 0, "neither a lock nor a probe image was written"
    assert swept.storage.objects.keys() == prepare.keys()


async def test_a_foreign_layout_below_the_folder_of_repositories_is_refused(
    swept: SweepWorld,
) -> None:
    """Without any repository, every blob would look as if nothing needed it."""
    swept.registry.write(f"{layout.REPOSITORIES}/team/app/index.json", b"{}")
    digest = swept.digest(b"1")
    swept.registry.write(layout.data_path(digest), b"1")
    swept.storage.pass_time(hours=25)
    with pytest.raises(NoRegistry, match="nothing in docker/registry/v2/repositories"):
        await swept.run(offline=True)
    assert swept.has_data(digest)


@pytest.mark.parametrize("offline", [False, True])
async def test_a_share_that_is_too_large_changes_nothing(swept: SweepWorld, offline: bool) -> None:
    swept.limits = Limits(share_percent_max=50)
    swept.registry.image("a", "v1")
    for number in range(20):
        swept.registry.upload("a", b"%d" % number)
    swept.storage.pass_time(hours=25)
    before = set(swept.storage.objects)
    with pytest.raises(GuardRefused, match="20 of 23 blobs"):
        await swept.run(offline=offline)
    assert set(swept.storage.objects) == before
    swept.limits = Limits(ignored=frozenset({Guard.SHARE}))
    counts = (await swept.run(offline=offline)).counts
    assert (counts.condemned, counts.freed_blobs) == ((0, 20) if offline else (20, 0))


async def test_a_small_plan_may_take_any_share(swept: SweepWorld) -> None:
    swept.limits = Limits(share_percent_max=1)
    swept.registry.image("a", "v1")
    for number in range(SMALL_PLAN):
        swept.registry.upload("a", b"%d" % number)
    assert (await swept.offline()).counts.freed_blobs == SMALL_PLAN


@pytest.mark.parametrize("offline", [False, True])
async def test_too_many_bytes_change_nothing(swept: SweepWorld, offline: bool) -> None:
    swept.limits = Limits(share_percent_max=100, size_bytes_max=3)
    swept.registry.image("b", "v1")
    swept.registry.upload("a", b"four")
    swept.storage.pass_time(hours=25)
    with pytest.raises(GuardRefused, match="4 bytes"):
        await swept.run(offline=offline)
    swept.limits = Limits(share_percent_max=100, size_bytes_max=4)
    await swept.run(offline=offline)


async def test_without_references_nothing_untagged_goes(swept: SweepWorld) -> None:
    swept.untagged = True
    swept.references = ("elsewhere.test/a:v1",)
    swept.registry.image("a", layers=[b"1"])
    swept.storage.pass_time(hours=25)
    with pytest.raises(GuardRefused, match="No reference"):
        await swept.run()


async def test_far_fewer_references_than_last_time_refuse(swept: SweepWorld) -> None:
    swept.untagged = True
    swept.references = tuple(f"registry.test/a:v{number}" for number in range(10))
    swept.registry.image("a", "v1")
    swept.registry.upload("a", b"1")
    await swept.offline()
    await swept.run()
    swept.references = swept.references[:1]
    swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=25)
    with pytest.raises(GuardRefused, match="had 10 last time"):
        await swept.run()


@pytest.mark.parametrize("untagged", [False, True])
async def test_what_an_image_of_openshift_names_stays(swept: SweepWorld, untagged: bool) -> None:
    """Also without a manifest in the storage that names it."""
    swept.registry.image("b", "v1")
    named, free = (swept.registry.upload("a", one) for one in (b"named", b"free"))
    image = {"metadata": {"name": "sha256:1"}, "dockerImageLayers": [{"name": named, "size": 5}]}
    kinds = (PODS, *(kind(one, one.title(), "image.openshift.io") for one in STREAM_KINDS))
    swept.clusters = (FakeCluster(served=kinds, pages={"images": [[image]]}),)
    swept.with_images, swept.untagged = not untagged, untagged
    swept.storage.pass_time(hours=25)
    reasons = await swept.reasons(offline=True)
    assert reasons[named] is BlobReason.IMAGE
    assert reasons[free] is BlobReason.UNREFERENCED


async def test_images_that_were_asked_for_and_are_not_served_are_an_error(
    swept: SweepWorld,
) -> None:
    swept.registry.image("b", "v1")
    swept.clusters, swept.with_images = (FakeCluster(),), True
    with pytest.raises(NoImageStreams):
        await swept.run(offline=True)


async def test_a_list_of_references_that_breaks_off_changes_nothing(swept: SweepWorld) -> None:
    swept.untagged = True
    image = swept.registry.image("a", layers=[b"1"])
    swept.clusters = (FakeCluster(errors={"pods": [kube.Forbidden("403")]}),)
    swept.storage.pass_time(hours=25)
    with pytest.raises(ReferencesIncomplete):
        await swept.run(offline=True)
    assert swept.registry.can_pull("a", image)


@pytest.mark.parametrize("offline", [False, True])
async def test_a_run_that_lost_its_lock_while_it_was_listing_changes_nothing(
    swept: SweepWorld, offline: bool
) -> None:
    """As a machine that sleeps for an hour, while another one sweeps."""
    swept.registry.image("a", "v1")
    swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=25)
    before = set(swept.storage.objects)
    whole = swept.storage.pages

    async def pages(prefix: str) -> AsyncIterator[Sequence[StoredObject]]:
        async for page in whole(prefix):
            yield page
        if prefix == layout.ROOT:
            swept.registry.write(lock.PATH, OTHER)

    swept.storage.pages = pages  # type: ignore[method-assign]
    with pytest.raises(SweepInProgress, match="taken over"):
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
            swept.registry.write(lock.PATH, OTHER)

    swept.storage.before_change = lose
    with pytest.raises(SweepInProgress, match="taken over"):
        await swept.run()
    assert swept.has_data(digest)


async def test_a_run_that_lost_its_lock_deletes_nothing_that_is_aside(swept: SweepWorld) -> None:
    swept.registry.image("b", "v1")
    digest = swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=25)
    await swept.run()
    swept.storage.pass_time(hours=25)
    swept.on_sleep = lambda: swept.registry.write(lock.PATH, OTHER)
    with pytest.raises(SweepInProgress, match="taken over"):
        await swept.run()
    assert layout.aside_path(digest) in swept.storage.objects


async def test_offline_what_a_run_left_aside_goes(swept: SweepWorld) -> None:
    swept.registry.image("b", "v1")
    path = layout.aside_path(swept.digest(b"1"))
    swept.registry.write(path, b"1")
    counts = (await swept.offline()).counts
    assert (counts.freed_blobs, counts.freed_bytes) == (1, 1)
    assert path not in swept.storage.objects


async def test_the_clock_of_the_storage_says_what_is_young(swept: SweepWorld) -> None:
    swept.registry.image("b", "v1")
    digest = swept.registry.upload("a", b"a push in progress")
    swept.clock_is_ahead_by = timedelta(hours=48)
    await swept.run(offline=True)
    assert swept.has_data(digest)


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


def test_only_the_first_failures_are_shown_and_all_are_counted() -> None:
    counts = SweepCounts()
    for number in range(FAILURES_SHOWN_MAX + 5):
        counts.fail(number)
    assert (counts.failed, len(counts.failures)) == (FAILURES_SHOWN_MAX + 5, FAILURES_SHOWN_MAX)


async def test_a_list_that_breaks_off_changes_nothing(swept: SweepWorld) -> None:
    swept.registry.image("a", "v1")
    swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=25)
    before = set(swept.storage.objects)

    whole = swept.storage.pages

    async def pages(prefix: str) -> AsyncIterator[Sequence[StoredObject]]:
        async for page in whole(prefix):
            yield page
        if prefix == layout.ROOT:
            raise storages.Unavailable("503")

    swept.storage.pages = pages  # type: ignore[method-assign]
    with pytest.raises(storages.Unavailable):
        await swept.run(offline=True)
    assert {one for one in swept.storage.objects if not one.startswith(layout.OWN)} == before
