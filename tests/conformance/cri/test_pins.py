"""Pins on any runtime that has a driver: set, read back, kept over pulls, taken back."""

import asyncio
import secrets
from collections.abc import AsyncIterator

import pytest

from lading.embedded import sample_images
from lading.kernel import references
from lading.kernel.values import replace
from lading.ports.cri import ImageSpec, Pin, RecordedPin
from tests.conformance.cri.targets import Target

UNPINNING_SECONDS_MAX = 60.0


@pytest.fixture(autouse=True)
async def _nothing_held_afterwards(target: Target) -> AsyncIterator[None]:
    yield
    if await target.pins.cannot_pin() is None:
        await target.pins.write([])


# By digest, as sets name images: CRI-O matches a pin with the names that an image was pulled by.
async def pulled(target: Target, name: str, *owners: str) -> Pin:
    sample = sample_images.image([{"unique": secrets.token_bytes(16)}])
    reference = references.parse(await target.push(sample, name)).at(sample.digest)
    image_id = await target.cri.pull(ImageSpec(image=str(reference)))
    return Pin(image=str(reference), image_id=image_id, owners=owners)


async def is_pinned(target: Target, pin: Pin) -> bool:
    image = await target.cri.image(ImageSpec(image=pin.image_id))
    assert image is not None
    return image.pinned


async def test_the_runtime_can_pin(target: Target) -> None:
    assert await target.pins.cannot_pin() is None


async def test_a_held_pin_is_what_the_runtime_itself_reports(
    target: Target, repository: str
) -> None:
    pin = await pulled(target, f"{repository}:1", "blue", "green")
    other = await pulled(target, f"{repository}:2", "blue")
    assert not await is_pinned(target, pin)
    await target.pins.write([pin])
    assert await target.pins.recorded() == (RecordedPin(pin=pin, effective=True),)
    assert await is_pinned(target, pin)
    assert not await is_pinned(target, other)


async def test_an_image_that_was_pulled_by_its_tag_is_pinned_by_its_digest(
    target: Target, repository: str
) -> None:
    sample = sample_images.image([{"unique": secrets.token_bytes(16)}])
    reference = references.parse(await target.push(sample, f"{repository}:1"))
    image_id = await target.cri.pull(ImageSpec(image=str(reference)))
    pin = Pin(image=str(reference.at(sample.digest)), image_id=image_id, owners=("blue",))
    await target.pins.write([pin])
    assert await target.pins.recorded() == (RecordedPin(pin=pin, effective=True),)


async def test_a_pin_that_is_no_longer_wanted_is_taken_back(
    target: Target, repository: str
) -> None:
    old = await pulled(target, f"{repository}:1", "blue")
    new = await pulled(target, f"{repository}:2", "blue")
    await target.pins.write([old])
    await target.pins.write([new])
    assert await target.pins.recorded() == (RecordedPin(pin=new, effective=True),)
    async with asyncio.timeout(UNPINNING_SECONDS_MAX):
        while await is_pinned(target, old):  # noqa: ASYNC110  the runtime reports no change
            await asyncio.sleep(0.05)


async def test_a_pin_survives_pulling_the_tag_again(target: Target, repository: str) -> None:
    pin = await pulled(target, f"{repository}:1", "blue")
    await target.pins.write([pin])
    await target.cri.pull(ImageSpec(image=f"{target.registry_host}/{repository}:1"))
    assert await target.pins.recorded() == (RecordedPin(pin=pin, effective=True),)


async def tagged(target: Target, name: str) -> tuple[str, ...]:
    """The IDs of the images that have this name."""
    return tuple(image.id for image in await target.cri.images() if name in image.repo_tags)


async def until_tagged(target: Target, name: str, *image_ids: str) -> None:
    async with asyncio.timeout(UNPINNING_SECONDS_MAX):
        while await tagged(target, name) != image_ids:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def test_a_tag_of_a_pin_means_its_image_until_the_pin_is_taken_back(
    target: Target, repository: str
) -> None:
    if not target.pins.makes_tags:
        pytest.skip("this runtime has no call that makes a tag")
    old = await pulled(target, f"{repository}:1", "blue")
    new = await pulled(target, f"{repository}:2", "blue")
    tag = f"{target.registry_host}/{repository}:stable"
    await target.pins.write([replace(old, tags=(tag,))])
    await until_tagged(target, tag, old.image_id)
    moved = replace(new, tags=(tag,))
    await target.pins.write([old, moved])
    await until_tagged(target, tag, new.image_id)
    recorded = {one.pin for one in await target.pins.recorded() if one.effective}
    assert recorded == {old, moved}
    found = await target.cri.image(ImageSpec(image=tag))
    assert found is not None
    assert (found.id, found.pinned) == (new.image_id, True)
    await target.pins.write([])
    await until_tagged(target, tag)
    assert await target.cri.image(ImageSpec(image=new.image_id)) is not None


async def test_a_tag_that_a_pod_pulled_stays_after_the_pin(target: Target, repository: str) -> None:
    if not target.pins.makes_tags:
        pytest.skip("this runtime has no call that makes a tag")
    pin = await pulled(target, f"{repository}:1", "blue")
    tag = f"{target.registry_host}/{repository}:1"
    await target.cri.pull(ImageSpec(image=tag))
    await target.pins.write([replace(pin, tags=(tag,))])
    await target.pins.write([])
    assert await tagged(target, tag) == (pin.image_id,)


async def test_a_pinned_image_is_removed_when_the_client_insists(
    target: Target, repository: str
) -> None:
    pin = await pulled(target, f"{repository}:1", "blue")
    await target.pins.write([pin])
    await target.cri.remove(ImageSpec(image=pin.image_id))
    assert await target.cri.image(ImageSpec(image=pin.image_id)) is None
    assert not any(recorded.effective for recorded in await target.pins.recorded())
