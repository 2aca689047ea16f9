"""Which manifest of an image runs on a guest, and what is said when none does."""

from dataclasses import replace

import pytest

from lading.kernel import platforms, references
from lading.kernel.platforms import Platform
from lading.kernel.references import Reference
from lading.ports import platform_image
from lading.ports.registry import MalformedAnswer
from lading.runtime_images import resolve
from lading.runtime_images.errors import NoImageForGuest
from lading.standalone import sample_images
from lading.standalone.sample_images import SampleImage
from tests.runtime_images.conftest import Stand

ARM = platforms.parse("linux/arm64")
NO_PLATFORM = Platform(os="", architecture="")
FOR_ARM = sample_images.image([{"file": b"for arm guests"}], platform=ARM)
FOR_AMD = sample_images.image([{"file": b"for the host"}])


async def pushed(stand: Stand, sample: SampleImage) -> Reference:
    reference = references.parse(f"{stand.publisher.host}/app:1")
    await sample_images.push(stand.registry, reference, sample)
    return reference


def undeclared(sample: SampleImage) -> SampleImage:
    """An entry whose index does not say what it is for."""
    return replace(sample, platform=None)


@pytest.mark.parametrize(
    "sample",
    [
        sample_images.index([FOR_AMD, FOR_ARM]),
        sample_images.index([sample_images.index([FOR_AMD, FOR_ARM])]),
        sample_images.index([undeclared(FOR_ARM)]),
        FOR_ARM,
    ],
    ids=["an index", "an index in an index", "an entry without a platform", "no index"],
)
async def test_the_manifest_for_the_guest_is_found(stand: Stand, sample: SampleImage) -> None:
    reference = await pushed(stand, sample)
    found = await resolve.manifest_for(stand.registry, reference, ARM)
    assert found == reference.at(FOR_ARM.digest)


async def test_an_artifact_is_for_every_guest(stand: Stand) -> None:
    """Its configuration names no platform."""
    artifact = sample_images.image([{"model": b"weights"}], platform=NO_PLATFORM)
    reference = await pushed(stand, artifact)
    found = await resolve.manifest_for(stand.registry, reference, ARM)
    assert found == reference.at(artifact.digest)


async def test_indexes_inside_indexes_end_at_a_limit(stand: Stand) -> None:
    reference = await pushed(stand, nested(platform_image.INDEX_DEPTH_MAX))
    with pytest.raises(MalformedAnswer, match="nested deeper than 3"):
        await resolve.manifest_for(stand.registry, reference, ARM)


def nested(depth: int) -> SampleImage:
    return sample_images.index([FOR_ARM if depth == 0 else nested(depth - 1)])


@pytest.mark.parametrize(
    ("sample", "said"),
    [
        (sample_images.index([FOR_AMD]), "the index offers linux/amd64"),
        (sample_images.index([undeclared(FOR_AMD)]), "it is linux/amd64"),
        (FOR_AMD, "it is linux/amd64: the architecture is not arm64"),
    ],
    ids=["another platform", "another platform that only the image says", "no index"],
)
async def test_an_image_that_the_guest_cannot_run_is_refused_with_the_reason(
    stand: Stand, sample: SampleImage, said: str
) -> None:
    reference = await pushed(stand, sample)
    with pytest.raises(NoImageForGuest, match=said):
        await resolve.manifest_for(stand.registry, reference, ARM)
