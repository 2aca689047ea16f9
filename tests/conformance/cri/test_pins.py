"""Pins on any runtime that has a driver: set, read back, kept over pulls, taken back."""

import asyncio
import secrets
from collections.abc import AsyncIterator

import pytest

from lading.embedded import sample_images
from lading.kernel import references
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


async def test_a_pinned_image_is_removed_when_the_client_insists(
    target: Target, repository: str
) -> None:
    pin = await pulled(target, f"{repository}:1", "blue")
    await target.pins.write([pin])
    await target.cri.remove(ImageSpec(image=pin.image_id))
    assert await target.cri.image(ImageSpec(image=pin.image_id)) is None
    assert not any(recorded.effective for recorded in await target.pins.recorded())
