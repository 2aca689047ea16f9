"""The life of an image in any runtime: pulled, listed, found by each of its names, removed."""

import asyncio
import json
import secrets

import pytest

from lading.embedded import sample_images
from lading.embedded.sample_images import SampleImage
from lading.kernel import references
from lading.ports import cri
from lading.ports.cri import Image, ImageSpec
from tests.conformance.cri.targets import Target

MEASURING_SECONDS_MAX = 60.0  # containerd measures its snapshots every ten seconds


def unique_image(*, user: str = "") -> SampleImage:
    return sample_images.image([{"unique": secrets.token_bytes(16)}], user=user)


async def pulled(target: Target, name: str) -> Image:
    image_id = await target.cri.pull(ImageSpec(image=name))
    image = await target.cri.image(ImageSpec(image=name))
    assert image is not None
    assert image.id == image_id, "what a pull returns is the ID"
    return image


def digest_name(name: str, sample: SampleImage) -> str:
    return str(references.parse(name).at(sample.digest))


async def test_a_pulled_tag_is_listed_with_its_names_and_size(
    target: Target, repository: str
) -> None:
    sample = unique_image()
    name = await target.push(sample, f"{repository}:1")
    image = await pulled(target, name)
    assert image.repo_tags == (name,)
    assert image.repo_digests == (digest_name(name, sample),)
    assert image.size_bytes > 0
    assert image in await target.cri.images()


async def test_a_name_without_a_tag_means_latest(target: Target, repository: str) -> None:
    name = await target.push(unique_image(), f"{repository}:latest")
    image = await pulled(target, name.removesuffix(":latest"))
    assert image.repo_tags == (name,)


async def test_an_image_pulled_by_digest_has_no_tag(target: Target, repository: str) -> None:
    sample = unique_image()
    name = digest_name(await target.push(sample, f"{repository}:1"), sample)
    image = await pulled(target, name)
    assert image.repo_tags == ()
    assert image.repo_digests == (name,)


async def test_every_name_and_the_id_find_the_same_image(target: Target, repository: str) -> None:
    sample = unique_image()
    names = [await target.push(sample, f"{repository}:{tag}") for tag in ("1", "2")]
    for name in names:
        image = await pulled(target, name)
    assert sorted(image.repo_tags) == names
    for each in (image.id, *image.repo_tags, *image.repo_digests):
        assert await target.cri.image(ImageSpec(image=each)) == image


async def test_an_absent_image_is_no_error_to_ask_for_or_to_remove(
    target: Target, repository: str
) -> None:
    absent = ImageSpec(image=f"{target.registry_host}/{repository}:1")
    assert await target.cri.image(absent) is None
    assert await target.cri.inspect(absent) is None
    await target.cri.remove(absent)


async def test_removing_by_one_tag_removes_the_image_with_all_its_tags(
    target: Target, repository: str
) -> None:
    sample = unique_image()
    names = [await target.push(sample, f"{repository}:{tag}") for tag in ("1", "2")]
    for name in names:
        image = await pulled(target, name)
    await target.cri.remove(ImageSpec(image=names[0]))
    for each in (image.id, *names):
        assert await target.cri.image(ImageSpec(image=each)) is None


async def test_removing_by_id_removes_every_name_at_once(target: Target, repository: str) -> None:
    sample = unique_image()
    first = await target.push(sample, f"{repository}:1")
    second = await target.push(sample, f"{repository}-copy:1")
    image = await pulled(target, first)
    assert (await pulled(target, second)).id == image.id, "one image, whatever its names"
    await target.cri.remove(ImageSpec(image=image.id))
    assert image.id not in {each.id for each in await target.cri.images()}
    for name in (first, second):
        assert await target.cri.image(ImageSpec(image=name)) is None


async def test_a_removed_image_can_be_pulled_again(target: Target, repository: str) -> None:
    name = await target.push(unique_image(), f"{repository}:1")
    before = await pulled(target, name)
    await target.cri.remove(ImageSpec(image=before.id))
    assert await pulled(target, name) == before


async def test_a_tag_that_moved_names_the_new_image_and_the_old_one_stays(
    target: Target, repository: str
) -> None:
    old_sample = unique_image()
    name = await target.push(old_sample, f"{repository}:1")
    old = await pulled(target, name)
    await target.push(unique_image(), f"{repository}:1")
    new = await pulled(target, name)
    assert new.id != old.id
    left = await target.cri.image(ImageSpec(image=old.id))
    assert left is not None
    assert left.repo_tags == ()
    assert left.repo_digests == (digest_name(name, old_sample),)


@pytest.mark.parametrize(
    ("user", "uid", "username"),
    [
        ("1002", 1002, ""),
        ("www-data", None, "www-data"),
        ("1003:1004", 1003, ""),
        ("www-data:www-data", None, "www-data"),
    ],
)
async def test_the_user_of_the_image_is_a_number_or_a_name(
    target: Target, repository: str, user: str, uid: int | None, username: str
) -> None:
    name = await target.push(unique_image(user=user), f"{repository}:1")
    image = await pulled(target, name)
    assert (image.uid, image.username) == (uid, username)


async def test_a_filtered_list_holds_the_named_image_only(target: Target, repository: str) -> None:
    name = await target.push(unique_image(), f"{repository}:1")
    other = await target.push(unique_image(), f"{repository}:2")
    await pulled(target, other)
    image = await pulled(target, name)
    assert await target.cri.images(ImageSpec(image=name)) == (image,)


async def test_inspection_adds_information_as_json(target: Target, repository: str) -> None:
    name = await target.push(unique_image(), f"{repository}:1")
    image = await pulled(target, name)
    inspection = await target.cri.inspect(ImageSpec(image=name))
    assert inspection is not None
    assert inspection.image == image
    assert inspection.info
    for value in inspection.info.values():
        json.loads(value)


async def test_the_filesystem_of_images_is_measured(target: Target, repository: str) -> None:
    name = await target.push(unique_image(), f"{repository}:1")
    await pulled(target, name)
    async with asyncio.timeout(MEASURING_SECONDS_MAX):
        while True:
            usages = (await target.cri.filesystems()).images
            if any(usage.used_bytes for usage in usages):
                break
            await asyncio.sleep(0.1)
    for usage in usages:
        assert usage.mountpoint.startswith("/")
        assert usage.measured_at_nanoseconds > 0


async def test_the_runtime_is_ready_and_says_what_it_is(target: Target) -> None:
    version = await target.cri.version()
    status = await target.cri.status()
    assert (version.name, version.api_version) == (target.name, "v1")
    assert status.ready
    assert await target.cri.containers() == ()


async def test_the_default_handler_is_listed(target: Target) -> None:
    assert "" in {handler.name for handler in (await target.cri.status()).handlers}


async def test_a_missing_tag_and_a_missing_repository_are_not_found(
    target: Target, repository: str
) -> None:
    await target.push(unique_image(), f"{repository}:1")
    for missing in (f"{repository}:2", f"{repository}-none:1"):
        with pytest.raises(cri.ImageNotFound):
            await target.cri.pull(ImageSpec(image=f"{target.registry_host}/{missing}"))


async def test_a_registry_that_does_not_answer_is_unavailable(target: Target) -> None:
    with pytest.raises(cri.RegistryUnavailable):
        await target.cri.pull(ImageSpec(image="127.0.0.1:1/no/server:1"))


async def test_a_name_that_cannot_be_read_is_an_invalid_reference(target: Target) -> None:
    with pytest.raises(cri.InvalidReference):
        await target.cri.pull(ImageSpec(image=f"{target.registry_host}/UPPER/case:1"))
