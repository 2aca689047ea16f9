"""Deletions that got no answer and are executed later, also after the next run."""

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta

import pytest

from lading.ports import storage as storages
from lading.ports.storage import StorageError
from lading.pruning.sweep import layout
from lading.pruning.sweep.types import BlobReason
from tests.pruning.sweep.worlds import STATE, SweepWorld


def condemned(world: SweepWorld) -> list[str]:
    return sorted(json.loads(world.storage.objects[STATE][0])["condemned"])


async def pushed_during_a_run(swept: SweepWorld) -> tuple[str, str]:
    """A layer that lost its link, and an image that needs it by the second look."""
    swept.registry.image("b", "v1")
    layer = swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=25)
    pushed: list[str] = []
    swept.on_sleep = lambda: pushed.append(swept.push_again("a", "v1", [b"1"]))
    await swept.run()
    swept.on_sleep = None
    return layer, pushed[0]


@pytest.mark.parametrize("offline", [False, True])
@pytest.mark.parametrize("runs", [0, 1, 2])
async def test_a_link_that_the_storage_deletes_late_is_written_again_by_the_next_run(
    swept: SweepWorld, runs: int, offline: bool
) -> None:
    """Who reads that something failed runs the command again at once."""
    layer, image = await pushed_during_a_run(swept)
    for _ in range(runs):
        await swept.run(offline=offline)
    assert swept.registry.can_pull("a", image)
    del swept.storage.objects[layout.layer_link("a", layer)]
    assert (await swept.run(offline=offline)).counts.restored == 1
    assert swept.registry.can_pull("a", image)
    swept.storage.pass_time(hours=1)
    await swept.run(offline=offline)
    assert condemned(swept) == []


async def test_a_link_of_a_push_that_is_not_done_yet_is_written_again(swept: SweepWorld) -> None:
    """The next run finds the layer young; the manifest comes after it, and then the link goes."""
    swept.registry.image("b", "v1")
    layer = swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=25)
    await swept.run()
    swept.registry.upload("a", b"1")
    await swept.run()
    image = swept.push_again("a", "v1", [b"1"])
    del swept.storage.objects[layout.layer_link("a", layer)]
    await swept.run()
    assert swept.registry.can_pull("a", image)


async def test_links_are_remembered_when_what_was_used_again_is_condemned_anew(
    swept: SweepWorld,
) -> None:
    layer, image = await pushed_during_a_run(swept)
    swept.settings = {"grace": timedelta(0)}
    swept.registry.delete_manifest("a", image)
    del swept.storage.objects[layout.layer_link("a", layer)]
    await swept.run()
    assert (await swept.reasons())[layer] is BlobReason.UNREFERENCED
    state = json.loads(swept.storage.objects[STATE][0])
    assert state["condemned"][layer]["layers"] == ["a"]


async def moved_without_answer(swept: SweepWorld, *, with_push: bool) -> tuple[str, str]:
    """A layer that was copied aside, and that the storage has yet to delete; perhaps an image."""
    swept.registry.image("b", "v1")
    layer = swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=25)
    await swept.run()
    swept.storage.pass_time(hours=25)
    pushed = [""]

    def lose(path: str) -> None:
        if path == layout.data_path(layer):
            raise storages.Unavailable(f"{path}: no answer in time")

    swept.storage.before_change = lose
    if with_push:
        swept.on_sleep = lambda: pushed.append(swept.push_again("a", "v1", [b"1"]))
    counts = (await swept.run()).counts
    assert (counts.failed, counts.freed_blobs) == (1, 0)
    swept.storage.before_change = lambda _path: None
    swept.on_sleep = None
    return layer, pushed[-1]


@pytest.mark.parametrize("offline", [False, True])
@pytest.mark.parametrize("runs", [0, 1, 2])
async def test_data_that_the_storage_deletes_late_comes_back_by_the_next_run(
    swept: SweepWorld, runs: int, offline: bool
) -> None:
    layer, image = await moved_without_answer(swept, with_push=True)
    for _ in range(runs):
        await swept.run(offline=offline)
    assert swept.registry.can_pull("a", image)
    del swept.storage.objects[layout.data_path(layer)]
    assert (await swept.run(offline=offline)).counts.put_back == 1
    assert swept.registry.can_pull("a", image)


@pytest.mark.parametrize("offline", [False, True])
async def test_data_that_may_be_deleted_late_waits_and_goes_later(
    swept: SweepWorld, offline: bool
) -> None:
    """If it went at once, and a push stored it again, its late deletion would be a loss."""
    layer, _ = await moved_without_answer(swept, with_push=False)
    counts = (await swept.run(offline=offline)).counts
    assert (counts.freed_blobs, counts.failed) == (0, 0)
    assert swept.has_data(layer)
    swept.storage.pass_time(hours=1)
    assert (await swept.run(offline=offline)).counts.freed_blobs == 1
    assert not swept.has_data(layer)
    assert layout.aside_path(layer) not in swept.storage.objects


async def test_data_that_was_deleted_late_and_is_not_used_is_freed_at_once(
    swept: SweepWorld,
) -> None:
    layer, _ = await moved_without_answer(swept, with_push=False)
    del swept.storage.objects[layout.data_path(layer)]
    assert (await swept.run()).counts.freed_blobs == 1
    assert condemned(swept) == []


async def test_a_copy_of_data_that_was_uploaded_again_is_not_counted_as_freed(
    swept: SweepWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first deletion fails: only the next run may try it again."""
    swept.registry.image("b", "v1")
    layer = swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=25)
    await swept.run()
    swept.storage.pass_time(hours=25)
    swept.on_sleep = lambda: swept.push_again("a", "v1", [b"1"])
    whole, failed = swept.storage.delete, list[str]()

    async def delete(paths: Sequence[str]) -> Mapping[str, StorageError]:
        if layout.aside_path(layer) in paths and not failed:
            failed.extend(paths)
            return {one: storages.Unavailable(f"{one}: no answer in time") for one in paths}
        return await whole(paths)

    monkeypatch.setattr(swept.storage, "delete", delete)
    counts = (await swept.run()).counts
    assert (counts.freed_blobs, counts.failed, failed) == (0, 1, [layout.aside_path(layer)])
    assert condemned(swept) == [layer], "its links are still remembered"
