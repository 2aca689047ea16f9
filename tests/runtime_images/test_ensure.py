"""Images for runtime classes, on a runtime that keeps them by handler and on one that does not."""

import pytest

from lading.kernel.values import replace
from lading.ports.cri import Cri, ImageSpec, UnknownHandler
from lading.ports.registry import NoMatchingPlatform
from lading.runtime_images import ensure
from lading.runtime_images.ensure import Delivery, Ensured, ImageNode, Wanted
from lading.runtime_images.handlers import WithoutHandlers
from tests.runtime_images.conftest import GUESTS, Stand

TWO_PLATFORMS = {"linux/amd64": [b"for the host"], "linux/arm64": [b"for arm guests"]}


def node(stand: Stand, runtime: Cri | None = None) -> ImageNode:
    return ImageNode(
        runtime=runtime or stand.runtime,
        registry=stand.registry,
        state=stand.state,
        guests=GUESTS,
    )


def blind(stand: Stand) -> ImageNode:
    """A runtime that ignores handlers, as containerd and CRI-O do."""
    return node(stand, WithoutHandlers(stand.runtime))


async def test_two_runtime_classes_have_their_own_image_of_one_tag(stand: Stand) -> None:
    tag = await stand.publisher.index("app:1", TWO_PLATFORMS)
    host = await ensure.ensure(Wanted(image=tag), node(stand))
    arm = await ensure.ensure(Wanted(image=tag, runtime_handler="arm"), node(stand))
    assert (host.delivery, arm.delivery) == (Delivery.DEFAULT, Delivery.BY_HANDLER)
    assert arm.named == tag
    listed = {(image.runtime_handler, image.id) for image in await stand.runtime.images()}
    assert listed == {("", host.image_id), ("arm", arm.image_id)}
    assert host.image_id != arm.image_id


async def test_removing_the_image_of_one_class_keeps_the_other(stand: Stand) -> None:
    tag = await stand.publisher.index("app:1", TWO_PLATFORMS)
    for handler in ("", "arm"):
        await ensure.ensure(Wanted(image=tag, runtime_handler=handler), node(stand))
    await stand.runtime.remove(ImageSpec(image=tag, runtime_handler="arm"))
    assert [image.runtime_handler for image in await stand.runtime.images()] == [""]


async def test_an_unknown_handler_is_refused_by_a_runtime_that_knows_handlers(
    stand: Stand,
) -> None:
    tag = await stand.publisher.index("app:1", TWO_PLATFORMS)
    with pytest.raises(UnknownHandler):
        await ensure.ensure(Wanted(image=tag, runtime_handler="riscv"), node(stand))


async def test_an_unknown_handler_is_refused_for_a_runtime_that_ignores_handlers(
    stand: Stand,
) -> None:
    tag = await stand.publisher.index("app:1", TWO_PLATFORMS)
    with pytest.raises(UnknownHandler, match="has no handler 'riscv'; known: arm"):
        await ensure.ensure(Wanted(image=tag, runtime_handler="riscv"), blind(stand))
    assert await stand.runtime.images() == ()


async def test_a_runtime_that_ignores_handlers_gets_the_guests_manifest_by_digest(
    stand: Stand,
) -> None:
    tag = await stand.publisher.index("app:1", TWO_PLATFORMS)
    host = await ensure.ensure(Wanted(image=tag), blind(stand))
    arm = await ensure.ensure(Wanted(image=tag, runtime_handler="arm"), blind(stand))
    assert arm.delivery is Delivery.BY_DIGEST
    assert arm.named.startswith(f"{tag.rpartition(':')[0]}@sha256:")
    assert arm.image_id != host.image_id
    found = await stand.runtime.image(ImageSpec(image=arm.named))
    assert found is not None
    assert found.id == arm.image_id


async def test_each_pull_by_digest_is_recorded(stand: Stand) -> None:
    tag = await stand.publisher.index("app:1", TWO_PLATFORMS)
    wanted = Wanted(image=tag, runtime_handler="arm")
    first = await ensure.ensure(wanted, blind(stand))
    await stand.publisher.index("app:1", {"linux/arm64": [b"new for arm guests"]})
    second = await ensure.ensure(wanted, blind(stand))
    assert second.image_id != first.image_id
    assert len((await stand.state.load()).digest_pulls) == 2


async def test_a_guest_that_the_index_does_not_serve_is_refused_with_what_it_offers(
    stand: Stand,
) -> None:
    tag = await stand.publisher.index("app:1", TWO_PLATFORMS)
    wanted = Wanted(image=tag, runtime_handler="wcow-2019")
    with pytest.raises(NoMatchingPlatform, match=r"offers linux/amd64: .*; linux/arm64: "):
        await ensure.ensure(wanted, blind(stand))


async def test_without_a_declared_guest_the_image_of_the_host_is_pulled_and_reported_so(
    stand: Stand,
) -> None:
    tag = await stand.publisher.index("app:1", TWO_PLATFORMS)
    undeclared = replace(blind(stand), guests={})
    ensured = await ensure.ensure(Wanted(image=tag, runtime_handler="arm"), undeclared)
    host = await ensure.ensure(Wanted(image=tag), blind(stand))
    assert ensured == Ensured(image_id=host.image_id, delivery=Delivery.HOST_ONLY, named=tag)
