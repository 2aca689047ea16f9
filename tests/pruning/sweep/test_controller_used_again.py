"""What is condemned and used again gets its links back, manifests too."""

from contextlib import nullcontext

import pytest

from lading.pruning.engine.inventory.observe_storage import revision_link
from lading.pruning.sweep import layout, lock
from lading.pruning.sweep.types import BlobReason
from tests.pruning.fake_clusters import PODS, FakeCluster, kind
from tests.pruning.sweep.memory_storage import CutOff
from tests.pruning.sweep.storage_registry import image_content
from tests.pruning.sweep.worlds import STATE, SweepWorld

STREAM_KINDS = ("images", "imagestreams")


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


async def test_a_manifest_by_another_digest_gets_the_links_that_it_needs(swept: SweepWorld) -> None:
    """A cache answers for what it names in `b`, which never had it in the storage."""
    swept.registry.image("c", "v1")
    layer, config = swept.registry.upload("a", b"1"), swept.registry.upload("a", b"{}")
    swept.storage.pass_time(hours=25)
    await swept.run()
    content = image_content(config, [layer])
    other = f"sha512:{'cd' * 64}"
    swept.registry.write(layout.data_path(swept.digest(content)), content)
    swept.registry.write(revision_link("b", other), swept.digest(content).encode())
    await swept.run()
    assert swept.registry.can_pull("b", other)


async def test_a_manifest_that_cannot_be_read_brings_back_what_its_repository_linked(
    swept: SweepWorld,
) -> None:
    """The registry had checked it before the links went, and writes it now."""
    swept.registry.image("b", "v1")
    layer, other = swept.registry.upload("a", b"1"), swept.registry.upload("b", b"2")
    swept.storage.pass_time(hours=25)
    unknown = b'{"mediaType": "application/x-unknown"}'
    swept.on_sleep = lambda: swept.registry.put_manifest("a", unknown)
    assert (await swept.run()).counts.restored == 1
    assert swept.has_layer("a", layer)
    assert not swept.has_layer("b", other)
    swept.on_sleep = None
    await swept.whole()
    assert swept.has_layer("a", layer)
    assert swept.has_data(layer)
    assert not swept.has_data(other)


async def test_a_manifest_that_is_aside_is_read_there(swept: SweepWorld) -> None:
    """Otherwise it would be unreadable, and keep all that its repository linked."""
    image = swept.registry.image("a", "v1", [b"1"])
    other = swept.registry.upload("a", b"2")
    swept.registry.image("b", "v1", [b"3"])
    swept.registry.delete_manifest("a", image)
    swept.storage.pass_time(hours=25)
    await swept.run()
    del swept.storage.objects[f"{layout.OWN}/manifests"]
    swept.storage.pass_time(hours=25)
    link = revision_link("a", image)
    swept.on_sleep = lambda: swept.registry.write(link, image.encode())
    await swept.run()
    assert swept.registry.can_pull("a", image)
    assert not swept.has_data(other)


async def test_what_an_unreadable_manifest_has_kept_waits_anew(swept: SweepWorld) -> None:
    """Also where it has no link in the next run."""
    swept.registry.image("b", "v1")
    layer = swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=25)
    unknown = b'{"mediaType": "application/x-unknown"}'
    swept.on_sleep = lambda: swept.registry.put_manifest("a", unknown)
    await swept.run()
    swept.registry.delete_manifest("a", swept.digest(unknown))
    del swept.storage.objects[layout.layer_link("a", layer)]
    swept.storage.pass_time(hours=25)
    assert (await swept.reasons())[layer] is BlobReason.CONDEMNED


async def test_a_manifest_that_became_unreadable_brings_back_what_was_condemned_before(
    swept: SweepWorld,
) -> None:
    """In a run that would have deleted it; the link comes back before the next one."""
    image = swept.registry.image("a", "v1", [b"1"])
    for name in ("a", "b"):
        layer = swept.registry.upload(name, b"2")
    swept.storage.pass_time(hours=25)
    await swept.run()
    assert not swept.has_layer("a", layer)
    swept.registry.write(layout.data_path(image), b"")
    del swept.storage.objects[f"{layout.OWN}/manifests"]
    swept.storage.pass_time(hours=25)
    counts = (await swept.run()).counts
    assert (counts.restored, counts.freed_blobs) == (1, 0)
    assert swept.has_layer("a", layer)
    assert not swept.has_layer("b", layer), "nothing there needs it"


async def test_a_manifest_that_is_known_as_unreadable_keeps_the_links_of_where_it_comes(
    swept: SweepWorld,
) -> None:
    """Another repository had a link to it without its data."""
    swept.registry.image("b", "v1")
    layer, config = swept.registry.upload("a", b"1"), swept.registry.upload("a", b"{}")
    content = image_content(config, [layer])
    image = swept.digest(content)
    swept.registry.write(revision_link("damaged", image), image.encode())
    swept.storage.pass_time(hours=25)

    def push(path: str) -> None:
        if path == STATE:
            swept.storage.pass_time(seconds=1)
            swept.registry.put_manifest("a", content)

    swept.storage.before_change = push
    counts = (await swept.run()).counts
    assert (counts.links, counts.restored) == (0, 0), "no link of it was ever missing"
    assert swept.registry.can_pull("a", image)


async def test_what_an_image_of_openshift_names_again_gets_its_links_back(
    swept: SweepWorld,
) -> None:
    swept.registry.image("b", "v1")
    layer, other = swept.registry.upload("a", b"1"), swept.registry.upload("a", b"2")
    swept.storage.pass_time(hours=25)
    await swept.run()
    image = {"metadata": {"name": "sha256:1"}, "dockerImageLayers": [{"name": layer, "size": 1}]}
    kinds = (PODS, *(kind(one, one.title(), "image.openshift.io") for one in STREAM_KINDS))
    swept.clusters = (FakeCluster(served=kinds, pages={"images": [[image]]}),)
    swept.with_images = True
    swept.storage.pass_time(hours=25)
    counts = (await swept.run()).counts
    assert (counts.restored, counts.freed_blobs) == (1, 1)
    assert swept.has_layer("a", layer)
    assert not swept.has_data(other)


@pytest.mark.parametrize("is_cut_off", [False, True])
async def test_a_tag_brings_back_its_manifest_in_runs_without_untagged_as_well(
    swept: SweepWorld, is_cut_off: bool
) -> None:
    """A push came between the looks: its link is gone, and the tag is all that is left of it."""
    swept.untagged = True
    swept.registry.image("b", "v1")
    image, other = (swept.registry.image("a", layers=[one]) for one in (b"1", b"2"))
    swept.storage.pass_time(hours=25)

    def tag() -> None:
        swept.registry.tag("a", "again", image)
        if is_cut_off:
            raise CutOff

    swept.on_sleep = tag
    with pytest.raises(CutOff) if is_cut_off else nullcontext():
        await swept.run()
    swept.storage.objects.pop(lock.PATH, None)
    swept.storage.objects.pop(revision_link("a", image), None)  # also by a late deletion
    swept.on_sleep, swept.untagged = None, False
    swept.storage.pass_time(hours=25)
    await swept.run()
    assert swept.registry.can_pull("a", image)
    await swept.whole()
    assert swept.registry.can_pull("a", image)
    assert not swept.has_data(other)


async def test_tags_are_read_only_where_they_decide(swept: SweepWorld) -> None:
    swept.registry.image("a", "v1", [b"1"])
    swept.registry.upload("a", b"2")
    await swept.whole()
    assert not [one for one in swept.storage.reads if "/tags/v1/" in one]
