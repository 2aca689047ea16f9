"""Which manifest of an image runs on a platform, and which image is refused."""

import pytest

from lading.embedded import sample_images
from lading.embedded.sample_images import SampleImage
from lading.kernel import manifests, platforms, references
from lading.kernel.platforms import Platform
from lading.kernel.references import Reference
from lading.kernel.values import replace
from lading.ports import platform_image
from lading.ports.registry import MalformedAnswer, NoMatchingPlatform
from tests.runtime_images.conftest import Stand, stand

__all__ = ["stand"]

AMD = platforms.parse("linux/amd64")
ARM = platforms.parse("linux/arm64")
NO_PLATFORM = Platform(os="", architecture="")
FOR_ARM = sample_images.image([{"file": b"for arm guests"}], platform=ARM)
FOR_AMD = sample_images.image([{"file": b"for the host"}])


async def pushed(stand: Stand, sample: SampleImage) -> Reference:
    reference = references.parse(f"{stand.publisher.host}/app:1")
    await sample_images.push(stand.registry, reference, sample)
    return reference


def undeclared(sample: SampleImage) -> SampleImage:
    """An entry without a platform in its index."""
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
    found = await platform_image.resolve(stand.registry, reference, ARM, for_guest=True)
    assert found.manifest == str(reference.at(FOR_ARM.digest))


async def test_an_artifact_is_for_every_guest(stand: Stand) -> None:
    """Its configuration names no platform."""
    artifact = sample_images.image([{"model": b"weights"}], platform=NO_PLATFORM)
    reference = await pushed(stand, artifact)
    found = await platform_image.resolve(stand.registry, reference, ARM, for_guest=True)
    assert found.manifest == str(reference.at(artifact.digest))


async def test_indexes_inside_indexes_end_at_a_limit(stand: Stand) -> None:
    reference = await pushed(stand, nested(platform_image.INDEX_DEPTH_MAX))
    with pytest.raises(MalformedAnswer, match="nested deeper than 3"):
        await platform_image.resolve(stand.registry, reference, ARM, for_guest=True)


def nested(depth: int) -> SampleImage:
    return sample_images.index([FOR_ARM if depth == 0 else nested(depth - 1)])


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (sample_images.index([FOR_AMD]), "the index offers linux/amd64"),
        (sample_images.index([undeclared(FOR_AMD)]), "it is linux/amd64"),
        (FOR_AMD, "it is linux/amd64: the architecture is not arm64"),
        (sample_images.index([replace(FOR_AMD, platform=ARM)]), "it is linux/amd64"),
    ],
    ids=[
        "another platform",
        "another platform that only the image declares",
        "no index",
        "an index that declares what the image is not",
    ],
)
async def test_an_image_that_the_guest_cannot_run_is_refused_with_the_reason(
    stand: Stand, sample: SampleImage, message: str
) -> None:
    reference = await pushed(stand, sample)
    with pytest.raises(NoMatchingPlatform, match=message):
        await platform_image.resolve(stand.registry, reference, ARM, for_guest=True)


async def test_the_host_takes_a_foreign_manifest_that_is_named_itself(stand: Stand) -> None:
    """Real runtimes do so; it is how an image for guests is preloaded by digest."""
    reference = await pushed(stand, FOR_AMD)
    found = await platform_image.resolve(stand.registry, reference, ARM, for_guest=False)
    assert found.manifest == str(reference.at(FOR_AMD.digest))


@pytest.mark.parametrize("platform", [None, AMD], ids=["undeclared", "declared"])
async def test_the_host_takes_no_foreign_image_from_an_index(
    stand: Stand, platform: Platform | None
) -> None:
    reference = await pushed(stand, sample_images.index([replace(FOR_AMD, platform=platform)]))
    with pytest.raises(NoMatchingPlatform, match="linux/amd64: the architecture is not arm64"):
        await platform_image.resolve(stand.registry, reference, ARM, for_guest=False)


async def test_the_layers_are_those_of_the_manifest_with_its_configuration(stand: Stand) -> None:
    reference = await pushed(stand, sample_images.index([FOR_AMD, FOR_ARM]))
    found = await platform_image.resolve(stand.registry, reference, ARM, for_guest=False)
    image = manifests.parse(FOR_ARM.manifest.content)
    assert isinstance(image, manifests.ImageManifest)
    assert {layer.digest for layer in found.layers} == {str(one.digest) for one in image.blobs}
    assert found.size_bytes == sum(one.size_bytes for one in image.blobs)
