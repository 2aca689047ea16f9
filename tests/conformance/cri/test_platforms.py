"""Images of several platforms: which one a pull takes, and what a runtime handler changes."""

import secrets

import pytest

from lading.embedded import sample_images
from lading.embedded.sample_images import SampleImage
from lading.kernel import manifests, platforms, references
from lading.ports import cri
from lading.ports.cri import ImageSpec
from tests.conformance.cri.targets import HANDLER, Target


def unique_image(platform: str) -> SampleImage:
    files = {"unique": secrets.token_bytes(16)}
    return sample_images.image([files], platform=platforms.parse(platform))


def image_id(target: Target, sample: SampleImage) -> str:
    """The digest of the configuration; CRI-O writes it without the algorithm."""
    document = manifests.parse(sample.manifest.content)
    assert isinstance(document, manifests.ImageManifest)
    digest = document.config.digest
    return digest.encoded if target.name == "cri-o" else str(digest)


async def test_the_image_of_the_hosts_platform_is_taken_from_an_index(
    target: Target, repository: str
) -> None:
    samples = [unique_image(each) for each in ("linux/arm64", "linux/amd64", "linux/s390x")]
    name = await target.push(sample_images.index(samples), f"{repository}:1")
    assert await target.cri.pull(ImageSpec(image=name)) == image_id(target, samples[1])


async def test_the_digest_of_a_tagged_index_is_the_indexs(target: Target, repository: str) -> None:
    index = sample_images.index([unique_image("linux/amd64")])
    name = await target.push(index, f"{repository}:1")
    await target.cri.pull(ImageSpec(image=name))
    image = await target.cri.image(ImageSpec(image=name))
    assert image is not None
    assert str(references.parse(name).at(index.digest)) in image.repo_digests


async def test_an_index_without_the_hosts_platform_says_so(target: Target, repository: str) -> None:
    samples = [unique_image("linux/arm64"), unique_image("windows/amd64")]
    name = await target.push(sample_images.index(samples), f"{repository}:1")
    with pytest.raises(cri.NoMatchingPlatform):
        await target.cri.pull(ImageSpec(image=name))


async def test_a_foreign_image_named_by_its_own_digest_is_taken(
    target: Target, repository: str
) -> None:
    """What can be had on runtimes that do not choose by runtime handler."""
    foreign = unique_image("linux/arm64")
    index = sample_images.index([unique_image("linux/amd64"), foreign])
    name = references.parse(await target.push(index, f"{repository}:1"))
    assert await target.cri.pull(ImageSpec(image=str(name.at(foreign.digest)))) == image_id(
        target, foreign
    )


async def test_an_unknown_handler_is_rejected(target: Target, repository: str) -> None:
    name = await target.push(unique_image("linux/amd64"), f"{repository}:1")
    with pytest.raises(cri.UnknownHandler):
        await target.cri.pull(ImageSpec(image=name, runtime_handler="no-such-handler"))


async def test_a_handler_gets_the_image_of_its_guests_beside_the_hosts_own(
    target: Target, repository: str
) -> None:
    samples = [unique_image("linux/amd64"), unique_image("linux/arm64")]
    name = await target.push(sample_images.index(samples), f"{repository}:1")
    default = await target.cri.pull(ImageSpec(image=name))
    guest = await target.cri.pull(ImageSpec(image=name, runtime_handler=HANDLER))
    assert (default, guest) == tuple(image_id(target, sample) for sample in samples)
    handlers = {
        image.id: image.runtime_handler
        for image in await target.cri.images()
        if name in image.repo_tags
    }
    assert handlers == {default: "", guest: HANDLER}
