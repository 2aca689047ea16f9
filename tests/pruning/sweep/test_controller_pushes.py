"""Pushes while a sweep runs: none that was answered with 201 is lost."""

import json

import pytest

from lading.pruning.engine.inventory.observe_storage import revision_link
from lading.pruning.sweep import layout
from lading.pruning.sweep.types import BlobReason
from tests.pruning.sweep.storage_registry import image_content
from tests.pruning.sweep.worlds import STATE, SweepWorld


async def test_a_client_uploads_again_what_is_condemned(swept: SweepWorld) -> None:
    swept.registry.image("b", "v1")
    swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=25)
    await swept.run()
    image = swept.push_again("a", "v1", [b"1"])
    await swept.whole()
    assert swept.registry.can_pull("a", image)


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


@pytest.mark.parametrize("seconds", [0, 1])
async def test_loss_3544_old_data_that_is_named_again_during_the_list(
    swept: SweepWorld, seconds: int
) -> None:
    """A push needs an old blob after its repository was listed, before its links go.

    Also in the second of the list: object storage has times of whole seconds.
    """
    swept.registry.image("b", "v1")
    swept.registry.upload("a", b"1")
    swept.registry.upload("a", b"config [b'1']")
    swept.storage.pass_time(hours=25)
    pushed: list[str] = []

    def push(path: str) -> None:
        if path == STATE and not pushed:
            swept.storage.pass_time(seconds=seconds)
            pushed.append(swept.push_again("a", "v1", [b"1"]))

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
            assert swept.push_again("a", "v1", [b"1"]) == image

    def check() -> None:
        assert swept.registry.can_pull("a", image)

    swept.storage.before_change = push
    swept.on_sleep = check
    counts = (await swept.run()).counts
    assert (counts.links, counts.restored) == (0, 0), "no link of it was ever missing"


def unfinished_push(world: SweepWorld) -> tuple[str, str, bytes]:
    """A layer, and digest and content of a manifest that needs it and is not written yet."""
    world.registry.image("b", "v1")
    layer, config = world.registry.upload("a", b"1"), world.registry.upload("a", b"{}")
    world.storage.pass_time(hours=25)
    content = image_content(config, [layer])
    return layer, world.digest(content), content


async def test_a_manifest_that_was_checked_before_its_links_went_gets_them_back(
    swept: SweepWorld,
) -> None:
    _, digest, content = unfinished_push(swept)

    def write() -> None:
        swept.registry.write(layout.data_path(digest), content)
        swept.registry.write(revision_link("a", digest), digest.encode())

    swept.on_sleep = write
    assert (await swept.run()).counts.restored == 2
    assert swept.registry.can_pull("a", digest)
    swept.storage.pass_time(hours=1)
    await swept.run()
    assert json.loads(swept.storage.objects[STATE][0])["condemned"] == {}


async def test_a_manifest_that_comes_while_its_links_go_gets_them_back_at_once(
    swept: SweepWorld,
) -> None:
    """Not only by the second look, which comes half a minute later."""
    layer, digest, content = unfinished_push(swept)

    def write(path: str) -> None:
        if path == layout.layer_link("a", layer) and not swept.has_data(digest):
            swept.storage.pass_time(seconds=1)
            swept.registry.write(layout.data_path(digest), content)
            swept.registry.write(revision_link("a", digest), digest.encode())

    def check() -> None:
        assert swept.registry.can_pull("a", digest)

    swept.storage.before_change = write
    swept.on_sleep = check
    counts = (await swept.run()).counts
    assert (counts.restored, counts.condemned) == (2, 0)


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


async def test_what_the_second_look_found_in_use_waits_anew(swept: SweepWorld) -> None:
    """Also where it has no link in the next run."""
    swept.registry.image("b", "v1")
    layer = swept.registry.upload("a", b"1")
    swept.storage.pass_time(hours=25)
    pushed: list[str] = []
    swept.on_sleep = lambda: pushed.append(swept.push_again("a", "v1", [b"1"]))
    await swept.run()
    swept.registry.delete_manifest("a", pushed[0])
    del swept.storage.objects[layout.layer_link("a", layer)]
    swept.storage.pass_time(hours=25)
    assert (await swept.reasons())[layer] is BlobReason.CONDEMNED
