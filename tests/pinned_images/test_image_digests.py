"""Tags become digests through the registry; what cannot be resolved is named and stops nothing."""

import pytest

from lading.kernel.errors import Malformed
from lading.pinned_images import image_digests
from lading.pinned_images.image_digests import ImageDigests
from tests.pinned_images.served_registry import ServedRegistry, served

__all__ = ["served"]
DIGEST = f"sha256:{'1' * 64}"


async def resolved(served: ServedRegistry, *images: str) -> ImageDigests:
    places = {image: f"line {number}" for number, image in enumerate(images, start=1)}
    return await image_digests.resolved(served.client, places, show=lambda _count: None)


async def test_a_tag_becomes_the_digest_that_the_registry_has(served: ServedRegistry) -> None:
    image = await served.push("app:v1")
    found = await resolved(served, f"{served.host}/app:v1")
    assert found.names == {image}
    assert found.unresolved == ()


async def test_an_image_by_digest_needs_no_registry(served: ServedRegistry) -> None:
    found = await resolved(served, f"busybox:1.36@{DIGEST}", f"no.such.host:1/a/b@{DIGEST}")
    assert found.names == {
        f"docker.io/library/busybox@{DIGEST}",
        f"no.such.host:1/a/b@{DIGEST}",
    }
    assert found.unresolved == ()


async def test_the_same_image_under_two_names_is_there_once(served: ServedRegistry) -> None:
    image = await served.push("app:v1")
    found = await resolved(served, f"{served.host}/app:v1", image)
    assert found.names == {image}


async def test_each_image_that_cannot_be_resolved_is_named_with_its_place(
    served: ServedRegistry,
) -> None:
    image = await served.push("app:v1")
    gone, closed = f"{served.host}/app:gone", "127.0.0.1:1/app:v1"
    found = await resolved(
        served, gone, f"{served.host}/app:v1", closed, "A b", f"x@sha512:{'0' * 128}"
    )
    assert found.names == {image}
    first, *_ = sorted(map(str, found.unresolved))
    assert first == f"{closed} (line 3): cannot connect to 127.0.0.1:1: Connection refused"
    reasons = {one.image: one.reason for one in found.unresolved}
    assert reasons[gone] == "not found in the registry; check the name and the tag"
    assert reasons["A b"].startswith("not a valid image reference: ")
    assert reasons[f"x@sha512:{'0' * 128}"] == "a set takes sha256 digests only"


async def test_a_list_that_no_pool_can_take_is_refused(served: ServedRegistry) -> None:
    images = [f"example.com/app@sha256:{number:064x}" for number in range(50_001)]
    with pytest.raises(Malformed, match="more than 50000 images"):
        await resolved(served, *images)
