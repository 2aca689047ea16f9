"""Whole sweeps: what is condemned, what goes, and what is counted."""

import json
from datetime import timedelta

import pytest

from lading.kernel.digests import Digest
from lading.pruning.sweep import layout
from lading.pruning.sweep.apply import FAILURES_SHOWN_MAX, SweepCounts
from lading.pruning.sweep.types import BlobReason
from tests.pruning.sweep.memory_storage import START
from tests.pruning.sweep.worlds import STATE, SweepWorld


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


@pytest.mark.parametrize("reported", ["configuration", "platform"])
async def test_an_untagged_image_in_use_stays_by_whatever_its_pod_reports(
    swept: SweepWorld, reported: str
) -> None:
    """Some runtimes report the configuration, and all report one platform of an index."""
    swept.untagged = True
    image = swept.registry.image("a", layers=[b"own"])
    index = swept.registry.index("a", [image])
    config = str(Digest.of(f"config {[b'own']!r}".encode()))
    used = {"configuration": config, "platform": image}[reported]
    swept.references = (f"registry.test/a@{used}",)
    for _ in range(2):
        swept.storage.pass_time(hours=25)
        await swept.run()
    assert swept.registry.can_pull("a", image)
    assert swept.registry.can_pull("a", index)


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


def test_only_the_first_failures_are_shown_and_all_are_counted() -> None:
    counts = SweepCounts()
    for number in range(FAILURES_SHOWN_MAX + 5):
        counts.fail(number)
    assert (counts.failed, len(counts.failures)) == (FAILURES_SHOWN_MAX + 5, FAILURES_SHOWN_MAX)


async def test_what_another_deleted_is_no_longer_condemned(swept: SweepWorld) -> None:
    swept.registry.image("b", "v1")
    digest = swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=25)
    await swept.run()
    del swept.storage.objects[layout.data_path(digest)]
    await swept.run()
    assert json.loads(swept.storage.objects[STATE][0])["condemned"] == {}


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


async def test_what_has_a_link_again_is_condemned_anew_and_not_moved(swept: SweepWorld) -> None:
    """Pulls of it would fail until the second look."""
    swept.registry.image("b", "v1")
    digest = swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=25)
    await swept.run()
    swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=25)
    assert (await swept.reasons())[digest] is BlobReason.CONDEMNED


async def test_the_grace_period_is_over_at_its_end(swept: SweepWorld) -> None:
    swept.settings = {"second_look_after": timedelta(0)}
    swept.registry.image("b", "v1")
    digest = swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=25)
    await swept.run()
    swept.storage.pass_time(hours=24)
    assert (await swept.reasons())[digest] is BlobReason.UNREFERENCED


@pytest.mark.parametrize("offline", [False, True])
@pytest.mark.parametrize("is_remembered", [False, True])
async def test_what_was_used_again_and_no_longer_is_waits_anew(
    swept: SweepWorld, is_remembered: bool, offline: bool
) -> None:
    """Also where it has no link by then, which would show that it is not condemned."""
    swept.settings = {"second_look_after": timedelta(0)}
    swept.registry.image("b", "v1")
    digest = swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=25)
    await swept.run()
    image = swept.push_again("a", "v1", [b"1"])
    swept.storage.pass_time(minutes=59 if is_remembered else 60)
    await swept.run(offline=offline)
    state = json.loads(swept.storage.objects[STATE][0])
    assert (digest in state["condemned"]) is is_remembered
    swept.registry.delete_manifest("a", image)
    del swept.storage.objects[layout.layer_link("a", digest)]
    swept.storage.pass_time(hours=25)
    assert (await swept.reasons())[digest] is BlobReason.CONDEMNED


async def test_what_keeps_a_link_is_not_counted_as_condemned(swept: SweepWorld) -> None:
    """No run after the grace period would delete it; a blob without any link is condemned."""
    swept.registry.image("c", "v1")
    held = swept.registry.upload("a", b"1")
    assert swept.registry.upload("b", b"1") == held
    swept.registry.upload("a", b"2")
    bare = swept.registry.upload("a", b"3")
    del swept.storage.objects[layout.layer_link("a", bare)]
    swept.storage.pass_time(hours=25)
    swept.storage.locked = {layout.layer_link("b", held)}
    counts = (await swept.run()).counts
    assert (counts.condemned, counts.links, counts.failed) == (2, 2, 1)


async def test_what_is_used_again_while_its_links_go_is_not_counted_as_condemned(
    swept: SweepWorld,
) -> None:
    swept.registry.image("b", "v1")
    swept.registry.upload("a", b"1")
    swept.registry.upload("a", b"config [b'1']")
    swept.registry.upload("a", b"2")
    swept.storage.pass_time(hours=25)

    def push(path: str) -> None:
        if path == STATE:
            swept.storage.pass_time(seconds=1)
            swept.push_again("a", "v1", [b"1"])

    swept.storage.before_change = push
    assert (await swept.run()).counts.condemned == 1


async def test_an_upload_that_was_finished_meanwhile_is_not_counted(swept: SweepWorld) -> None:
    swept.registry.image("a", "v1")
    path = f"{layout.REPOSITORIES}/a/_uploads/old/startedat"
    swept.registry.write(path, b"")
    swept.storage.pass_time(hours=200)

    def finish(prefix: str) -> None:
        if prefix == layout.ROOT:
            del swept.storage.objects[path]

    swept.storage.after_list = finish
    assert (await swept.run(offline=True)).counts.uploads == 0
