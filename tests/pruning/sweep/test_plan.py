"""What stays and what goes: the cases of distribution's own garbage collection, and its losses.

Each case is one offline pass over a storage that a registry wrote; D01 to D14 are distribution's.
"""

import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from lading.pruning.engine.inventory import graph, observe_storage
from lading.pruning.sweep import layout, manifest_reader, types
from lading.pruning.sweep.types import BlobReason
from tests.pruning.sweep.storage_registry import image_content
from tests.pruning.sweep.worlds import SweepWorld


async def test_d01_nothing_deleted_no_effect(swept: SweepWorld) -> None:
    swept.registry.image("a", "v1")
    before = dict(swept.storage.objects)
    counts = (await swept.offline()).counts
    assert (counts.freed_blobs, counts.links, counts.failed) == (0, 0, 0)
    assert before.items() <= swept.storage.objects.items()


@pytest.mark.parametrize("untagged", [False, True])
async def test_d02_a_dry_run_changes_nothing_and_untagged_ones_go_only_if_asked(
    swept: SweepWorld, untagged: bool
) -> None:
    swept.untagged = untagged
    image = swept.registry.image("a", layers=[b"1"])
    swept.registry.image("a", "v1", [b"2"])
    swept.storage.pass_time(hours=25)
    before = dict(swept.storage.objects)
    reasons = await swept.reasons(offline=True)
    assert swept.storage.objects == before
    assert (reasons[image] is BlobReason.UNREFERENCED) is untagged
    await swept.run(offline=True)
    assert swept.has_data(image) is not untagged
    assert swept.registry.can_pull("a", image) is not untagged


async def test_d03_an_index_with_a_dangling_child_survives(swept: SweepWorld) -> None:
    child, gone = (swept.registry.image("a", layers=[one]) for one in (b"1", b"2"))
    layer = swept.registry.upload("a", b"2")
    index = swept.registry.index("a", [child, gone], "v1")
    swept.registry.delete_manifest("a", gone)
    swept.untagged = True
    await swept.offline()
    assert swept.has_data(index)
    assert swept.registry.can_pull("a", child)
    assert not swept.has_data(layer)


async def test_d04_an_untagged_index_goes_with_everything_in_it(swept: SweepWorld) -> None:
    children = [swept.registry.image("a", layers=[one]) for one in (b"1", b"2")]
    swept.registry.index("a", children, "v1")
    swept.registry.untag("a", "v1")
    swept.untagged = True
    await swept.offline()
    assert swept.blobs == set()


async def test_d05_an_unused_layer_link_is_removed(swept: SweepWorld) -> None:
    image = swept.registry.image("a", "v1", [b"1"])
    layer = swept.registry.upload("a", b"1")
    swept.registry.delete_manifest("a", image)
    await swept.offline()
    assert not swept.has_layer("a", layer)
    assert swept.blobs == set()


async def test_d06_and_d07_a_repository_without_manifests_is_fine(swept: SweepWorld) -> None:
    kept = swept.registry.image("a", "v1")
    orphan = swept.registry.upload("only/layers", b"1")
    await swept.offline()
    assert not swept.has_data(orphan)
    assert swept.registry.can_pull("a", kept)


async def test_d08_a_deleted_manifest_goes_with_its_layers(swept: SweepWorld) -> None:
    image = swept.registry.image("a", "v1", [b"1"])
    swept.registry.delete_manifest("a", image)
    counts = (await swept.offline()).counts
    assert swept.blobs == set()
    assert counts.freed_blobs == 3


async def test_d09_a_shared_layer_survives(swept: SweepWorld) -> None:
    gone = swept.registry.image("a", "v1", [b"own", b"shared"])
    kept = swept.registry.image("b", "v1", [b"shared"])
    own, shared = (swept.registry.upload("a", one) for one in (b"own", b"shared"))
    swept.registry.delete_manifest("a", gone)
    await swept.offline()
    assert not swept.has_data(own)
    assert swept.has_data(shared)
    assert swept.registry.can_pull("b", kept)


async def test_d10_an_orphan_blob_is_removed(swept: SweepWorld) -> None:
    swept.registry.image("a", "v1")
    digest = swept.registry.upload("a", b"never in a manifest")
    assert (await swept.offline()).counts.freed_blobs == 1
    assert not swept.has_data(digest)


@pytest.mark.parametrize("index_tag", ["index", ""])
@pytest.mark.parametrize("child", ["tagged", "untagged", "deleted"])
async def test_d11_to_d14_index_and_child(swept: SweepWorld, index_tag: str, child: str) -> None:
    swept.untagged = True
    swept.registry.image("other", "v1", [b"other"])
    image = swept.registry.image("a", "child" if child == "tagged" else "", [b"1"])
    layer = swept.registry.upload("a", b"1")
    index = swept.registry.index("a", [image], index_tag)
    if child == "deleted":
        swept.registry.delete_manifest("a", image)
    await swept.offline()
    assert swept.has_data(index) is bool(index_tag)
    is_child_kept = child == "tagged" or (child == "untagged" and bool(index_tag))
    assert swept.registry.can_pull("a", image) is is_child_kept
    assert swept.has_data(layer) is is_child_kept


async def test_loss_5_2_a_signature_by_subject_stays_with_its_image(swept: SweepWorld) -> None:
    """distribution's `-m` deletes untagged referrers."""
    swept.untagged = True
    image = swept.registry.image("a", "v1", [b"1"])
    config, layer = swept.registry.upload("a", b"{}"), swept.registry.upload("a", b"signature")
    subject = {"digest": image, "size": 1}
    signature = swept.registry.put_manifest("a", image_content(config, [layer], subject=subject))
    await swept.offline()
    assert swept.registry.can_pull("a", signature)
    swept.registry.untag("a", "v1")
    await swept.offline()
    assert swept.blobs == set()


async def test_loss_5_2_a_child_that_another_repository_names_without_having_it(
    swept: SweepWorld,
) -> None:
    """distribution marks the child in `a` without its layers, and passes it over in `b`."""
    swept.untagged = True
    image = swept.registry.image("b", layers=[b"1"])
    swept.registry.index("b", [image], "v1")
    swept.registry.image("a", layers=[b"1"])
    swept.registry.index("a", [image], "v1")
    swept.registry.delete_manifest("a", image)
    await swept.offline()
    assert swept.registry.can_pull("b", image)


async def test_loss_4_the_children_of_an_index_keep_their_links(swept: SweepWorld) -> None:
    """OpenShift's hard prune removes links that are in no ImageStream."""
    children = [swept.registry.image("a", layers=[one]) for one in (b"1", b"2")]
    index = swept.registry.index("a", children, "v1")
    outer = swept.registry.index("a", [index], "nested")
    swept.untagged = True
    await swept.offline()
    assert swept.registry.can_pull("a", outer)


async def test_loss_4_young_blobs_stay(swept: SweepWorld) -> None:
    """Neither the hard prune nor distribution has an age."""
    digest = swept.registry.upload("a", b"a push in progress")
    swept.storage.pass_time(hours=23)
    assert (await swept.reasons(offline=True))[digest] is BlobReason.YOUNG
    await swept.run(offline=True)
    assert swept.has_data(digest)


def test_a_part_of_a_second_makes_nothing_older() -> None:
    whole = datetime(2026, 11, 1, tzinfo=UTC)
    assert types.seconds(whole) == whole.timestamp()
    assert types.seconds(whole + timedelta(microseconds=1)) == whole.timestamp() + 1


async def test_offline_a_manifest_goes_before_the_links_to_its_layers(swept: SweepWorld) -> None:
    """So that a run that is cut off leaves no manifest that cannot be pulled."""
    swept.untagged = True
    image, layer = swept.registry.image("a", layers=[b"1"]), swept.digest(b"1")
    swept.registry.image("b", "v1", [b"2"])
    links = {observe_storage.revision_link("a", image), layout.layer_link("a", layer)}
    order: list[str] = []
    swept.storage.before_change = lambda path: order.append(path) if path in links else None
    await swept.offline()
    assert order == [observe_storage.revision_link("a", image), layout.layer_link("a", layer)]


async def test_an_upload_that_is_removed_in_part_is_not_counted(swept: SweepWorld) -> None:
    swept.registry.image("a", "v1")
    folder = f"{layout.REPOSITORIES}/a/_uploads/1"
    for name in ("data", "startedat"):
        swept.registry.write(f"{folder}/{name}", b"x")
    swept.storage.locked = {f"{folder}/data"}
    swept.storage.pass_time(hours=200)
    counts = (await swept.run(offline=True)).counts
    assert (counts.uploads, counts.failed) == (0, 1)


@pytest.mark.parametrize("offline", [False, True])
async def test_young_data_without_a_link_stays(swept: SweepWorld, offline: bool) -> None:
    """A push stores the data before the link."""
    swept.registry.image("a", "v1")
    digest = swept.registry.upload("a", b"1")
    del swept.storage.objects[layout.layer_link("a", digest)]
    swept.storage.pass_time(hours=23)
    assert (await swept.reasons(offline=offline))[digest] is BlobReason.YOUNG


async def test_a_link_makes_old_data_young(swept: SweepWorld) -> None:
    digest = swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=100)
    swept.registry.upload("b", b"1")
    assert (await swept.reasons(offline=True))[digest] is BlobReason.YOUNG


@pytest.mark.parametrize(
    "content",
    [
        b"no JSON",
        json.dumps({"mediaType": "application/x-unknown", "parts": []}).encode(),
        json.dumps({"schemaVersion": 2}).encode(),
    ],
)
async def test_an_unreadable_or_unknown_manifest_keeps_all_that_its_repository_links(
    swept: SweepWorld, content: bytes
) -> None:
    swept.registry.image("b", "v1")
    held = swept.registry.upload("a", b"may be needed")
    free = swept.registry.upload("b", b"is not needed")
    digest = swept.digest(content)
    swept.registry.write(layout.data_path(digest), content)
    swept.registry.write(observe_storage.revision_link("a", digest), digest.encode())
    swept.storage.pass_time(hours=25)
    reasons = await swept.reasons(offline=True)
    assert reasons[held] is BlobReason.UNREADABLE
    assert reasons[free] is BlobReason.UNREFERENCED
    await swept.run(offline=True)
    assert swept.has_data(held)
    assert swept.has_layer("a", held)


async def test_an_unreadable_manifest_keeps_untagged_ones_with_all_that_they_need(
    swept: SweepWorld,
) -> None:
    """Also what its repository does not link: the unreadable one may be an index."""
    swept.untagged = True
    image, layer = swept.registry.image("a", layers=[b"1"]), swept.digest(b"1")
    swept.storage.objects.pop(layout.layer_link("a", layer))
    swept.registry.put_manifest("a", b'{"mediaType": "application/x-unknown"}', "v1")
    await swept.offline()
    assert swept.has_data(image)
    assert swept.has_data(layer)


async def test_an_unreadable_manifest_is_not_taken_for_known_in_the_next_run(
    swept: SweepWorld,
) -> None:
    held = swept.registry.upload("a", b"may be needed")
    swept.registry.put_manifest("a", b'{"mediaType": "application/x-unknown"}', "v1")
    for _ in range(2):
        await swept.offline()
        assert swept.has_data(held)


@pytest.mark.parametrize("place", [0, 40, -1, None])
async def test_a_damaged_memory_of_manifests_costs_only_time(
    swept: SweepWorld, place: int | None
) -> None:
    image = swept.registry.image("a", "v1", [b"1"])
    await swept.offline()
    path = f"{layout.OWN}/manifests"
    content = bytearray(swept.storage.objects[path][0])
    if place is None:
        content = content[:10]
    else:
        content[place] ^= 1
    swept.registry.write(path, bytes(content))
    await swept.offline()
    assert swept.registry.can_pull("a", image)


async def test_manifests_that_are_gone_are_not_remembered(swept: SweepWorld) -> None:
    path = f"{layout.OWN}/manifests"
    swept.registry.image("a", "v1", [b"1"])
    await swept.offline()
    one = len(swept.storage.objects[path][0])
    gone = swept.registry.image("a", "v2", [b"2"])
    await swept.offline()
    assert len(swept.storage.objects[path][0]) > one
    swept.registry.delete_manifest("a", gone)
    await swept.offline()
    assert len(swept.storage.objects[path][0]) == one


async def test_a_link_of_another_content_keeps_what_its_repository_links(
    swept: SweepWorld,
) -> None:
    held = swept.registry.upload("a", b"1")
    swept.registry.write(layout.layer_link("a", f"sha512:{'cd' * 64}"), b"no digest")
    swept.storage.pass_time(hours=25)
    assert (await swept.reasons(offline=True))[held] is BlobReason.UNREADABLE


@pytest.mark.parametrize("content", [b"no digest", b"x" * 300])
async def test_a_tag_that_cannot_be_read_keeps_the_manifests_of_its_repository(
    swept: SweepWorld, content: bytes
) -> None:
    swept.untagged = True
    image = swept.registry.image("a", layers=[b"1"])
    swept.registry.write(observe_storage.tag_link("a", "v1"), content)
    await swept.offline()
    assert swept.registry.can_pull("a", image)


async def test_a_manifest_that_is_too_large_to_read_keeps_what_its_repository_links(
    swept: SweepWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest_reader, "MANIFEST_BYTES_MAX", 10)
    swept.registry.image("a", "v1", [b"1"])
    swept.storage.pass_time(hours=25)
    assert (await swept.reasons(offline=True))[swept.digest(b"1")] is BlobReason.UNREADABLE


async def test_a_corrupt_manifest_keeps_what_its_repository_links(swept: SweepWorld) -> None:
    image = swept.registry.image("a", "v1", [b"1"])
    layer = swept.registry.upload("a", b"1")
    swept.registry.write(layout.data_path(image), b'{"layers": []}')
    swept.storage.pass_time(hours=25)
    assert (await swept.reasons(offline=True))[layer] is BlobReason.UNREADABLE


async def test_a_link_that_is_no_digest_keeps_what_its_repository_links(swept: SweepWorld) -> None:
    held = swept.registry.upload("a", b"1")
    swept.registry.write(f"{layout.revisions_folder('a')}/sha256/short/link", b"x")
    swept.storage.pass_time(hours=25)
    assert (await swept.reasons(offline=True))[held] is BlobReason.UNREADABLE


async def test_a_link_that_is_not_sha256_names_the_data_in_its_content(swept: SweepWorld) -> None:
    """distribution's garbage collection loses such data."""
    data = swept.registry.upload("b", b"stored by sha256")
    swept.storage.objects.pop(layout.layer_link("b", data))
    other = f"sha512:{'cd' * 64}"
    swept.registry.write(layout.layer_link("a", other), data.encode())
    config = swept.registry.upload("a", b"{}")
    swept.registry.write(layout.layer_link("a", config), config.encode())
    content = image_content(config, [other])
    swept.registry._cache.add(("a", other))
    image = swept.registry.put_manifest("a", content, "v1")
    await swept.offline()
    assert swept.has_data(data)
    swept.registry.delete_manifest("a", image)
    await swept.offline()
    assert not swept.has_data(data)
    assert not swept.has_layer("a", other)


async def test_a_manifest_link_that_is_not_sha256_keeps_what_its_manifest_needs(
    swept: SweepWorld,
) -> None:
    image, layer = swept.registry.image("a", layers=[b"1"]), swept.digest(b"1")
    swept.storage.objects.pop(observe_storage.revision_link("a", image))
    other = f"sha512:{'cd' * 64}"
    swept.registry.write(observe_storage.revision_link("a", other), image.encode())
    await swept.offline()
    assert swept.registry.can_pull("a", other)
    assert swept.has_data(layer)


async def test_a_young_manifest_without_a_tag_keeps_its_old_layers(swept: SweepWorld) -> None:
    """A push by digest, of which the tag or the index comes next."""
    swept.untagged = True
    swept.registry.image("b", "v1", [b"other"])
    config, layer = (swept.registry.upload("a", one) for one in (b"{}", b"1"))
    swept.storage.pass_time(hours=100)
    image = swept.registry.put_manifest("a", image_content(config, [layer]))
    reasons = await swept.reasons(offline=True)
    assert [reasons[one] for one in (image, config, layer)] == [BlobReason.NEEDED] * 3


async def test_data_by_sha512_is_swept_by_its_own_name(swept: SweepWorld) -> None:
    digest = f"sha512:{'ef' * 64}"
    swept.registry.image("b", "v1")
    swept.registry.write(layout.data_path(digest), b"1")
    swept.registry.write(layout.layer_link("a", digest), digest.encode())
    await swept.offline()
    assert not swept.has_data(digest)
    assert not swept.has_layer("a", digest)


async def test_a_digest_that_a_cluster_uses_stays_without_a_tag(swept: SweepWorld) -> None:
    swept.untagged = True
    image = swept.registry.image("a", layers=[b"1"])
    swept.references = (f"elsewhere.test/mirror/a@{image}",)
    await swept.offline()
    assert swept.registry.can_pull("a", image)


async def test_an_unreadable_reference_keeps_the_repository_that_it_names(
    swept: SweepWorld,
) -> None:
    swept.untagged = True
    image = swept.registry.image("team/app", layers=[b"1"])
    swept.references = ("registry.test/team/app:$(VERSION)",)
    await swept.offline()
    assert swept.registry.can_pull("team/app", image)


async def test_what_a_tag_named_before_goes_with_its_history(swept: SweepWorld) -> None:
    swept.untagged = True
    before = swept.registry.image("a", "v1", [b"1"])
    now = swept.registry.image("a", "v1", [b"2"])
    await swept.offline()
    assert not swept.has_data(before)
    assert swept.registry.can_pull("a", now)
    left = [one for one in swept.storage.objects if "/index/" in one]
    assert [one.split("/")[-2] for one in left] == [now.removeprefix("sha256:")]


async def test_z12_only_stale_uploads_are_removed(swept: SweepWorld) -> None:
    swept.registry.image("a", "v1")
    old, young = (f"{layout.REPOSITORIES}/a/_uploads/{one}" for one in ("old", "young"))
    for folder in (old, young):
        swept.registry.write(f"{folder}/startedat", b"")
        swept.registry.write(f"{folder}/hashstates/sha256/0", b"")
    swept.storage.pass_time(hours=100)
    swept.registry.write(f"{young}/data", b"still growing")
    swept.storage.pass_time(hours=67.9)
    assert (await swept.run(offline=True)).counts.uploads == 0, "not before 168 hours"
    swept.storage.pass_time(hours=0.2)
    counts = (await swept.run(offline=True)).counts
    assert counts.uploads == 1
    assert not [one for one in swept.storage.objects if one.startswith(old)]
    assert f"{young}/startedat" in swept.storage.objects


async def test_two_blobs_with_the_same_number_stop_the_run(swept: SweepWorld) -> None:
    swept.registry.image("a", "v1")
    for end in ("00", "11"):
        swept.registry.write(layout.data_path(f"sha256:{'ab' * 31}{end}"), b"")
    swept.storage.pass_time(hours=25)
    before = dict(swept.storage.objects)
    with pytest.raises(graph.SameNumber):
        await swept.run(offline=True)
    assert {one for one in before if one.startswith(layout.ROOT)} <= swept.storage.objects.keys()


async def test_manifests_that_were_read_once_are_not_read_again(swept: SweepWorld) -> None:
    image = swept.registry.image("a", "v1")
    await swept.run()
    swept.storage.reads.clear()
    other = swept.registry.image("a", "v2", [b"2"])
    await swept.run()
    assert layout.data_path(image) not in swept.storage.reads
    assert layout.data_path(other) in swept.storage.reads
    assert observe_storage.tag_link("a", "v1") not in swept.storage.reads, "tags do not decide"


async def test_a_damaged_memory_of_manifests_only_costs_time(swept: SweepWorld) -> None:
    image = swept.registry.image("a", "v1")
    await swept.run()
    path = f"{layout.OWN}/manifests"
    content, time = swept.storage.objects[path]
    swept.storage.objects[path] = content[:-1] + b"x", time
    await swept.offline()
    assert swept.registry.can_pull("a", image)


def test_reasons_are_numbers_that_fit_one_byte() -> None:
    assert max(BlobReason) < np.iinfo(np.uint8).max
    assert len({one.label for one in BlobReason}) == len(BlobReason)
