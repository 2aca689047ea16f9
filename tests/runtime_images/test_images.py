"""Which image a name means for a runtime class, on both kinds of runtime."""

import pytest

from lading.ports.cri import Cri, Image, ImageSpec, InvalidReference
from lading.runtime_images import ensure
from lading.runtime_images import images as node_images
from lading.runtime_images.ensure import Ensured, ImageNode, Wanted
from lading.runtime_images.handlers import WithoutHandlers
from tests.runtime_images.conftest import GUESTS, Stand

LAYERS = {"linux/amd64": [b"for the host"], "linux/arm64": [b"for arm guests"]}


@pytest.fixture
async def tag(stand: Stand) -> str:
    return await stand.publisher.index("app:1", LAYERS)


async def ensured(stand: Stand, runtime: Cri, tag: str, handler: str) -> Ensured:
    node = ImageNode(runtime=runtime, registry=stand.registry, state=stand.state, guests=GUESTS)
    return await ensure.ensure(Wanted(image=tag, runtime_handler=handler), node)


async def found_id(stand: Stand, runtime: Cri, name: str, handler: str) -> str | None:
    spec = ImageSpec(image=name, runtime_handler=handler)
    found = await node_images.find(runtime, stand.state, spec)
    return None if found is None else found.id


@pytest.mark.parametrize("blind", [False, True])
async def test_a_tag_means_the_image_of_the_class_that_is_asked_for(
    stand: Stand, tag: str, blind: bool
) -> None:
    runtime = WithoutHandlers(stand.runtime) if blind else stand.runtime
    host = await ensured(stand, runtime, tag, "")
    arm = await ensured(stand, runtime, tag, "arm")
    assert await found_id(stand, runtime, tag, "") == host.image_id
    assert await found_id(stand, runtime, tag, "arm") == arm.image_id
    assert await found_id(stand, runtime, arm.image_id, "arm") == arm.image_id


async def test_the_image_of_a_class_is_found_by_tag_without_the_hosts(
    stand: Stand, tag: str
) -> None:
    runtime = WithoutHandlers(stand.runtime)
    arm = await ensured(stand, runtime, tag, "arm")
    assert await found_id(stand, runtime, tag, "") is None
    assert await found_id(stand, runtime, tag, "arm") == arm.image_id


@pytest.mark.parametrize("blind", [False, True])
async def test_the_hosts_image_is_never_taken_for_that_of_a_class(
    stand: Stand, tag: str, blind: bool
) -> None:
    runtime = WithoutHandlers(stand.runtime) if blind else stand.runtime
    host = await ensured(stand, runtime, tag, "")
    assert await found_id(stand, runtime, tag, "arm") is None
    assert await found_id(stand, runtime, host.image_id, "arm") is None


async def test_what_a_tag_has_moved_on_from_is_still_found_by_its_digest_and_id(
    stand: Stand, tag: str
) -> None:
    runtime = WithoutHandlers(stand.runtime)
    old = await ensured(stand, runtime, tag, "arm")
    await stand.publisher.index("app:1", {"linux/arm64": [b"newer"]})
    new = await ensured(stand, runtime, tag, "arm")
    assert await found_id(stand, runtime, tag, "arm") == new.image_id
    for name in (old.named, old.image_id):
        assert await found_id(stand, runtime, name, "arm") == old.image_id


class KnowsNoShortNames(WithoutHandlers):
    """As CRI-O without registries to search in; the image of the tag is also on Docker Hub."""

    def __init__(self, runtime: Cri, tag: str) -> None:
        super().__init__(runtime)
        self._tag = tag

    async def image(self, spec: ImageSpec) -> Image | None:
        if "/" not in spec.image:
            raise InvalidReference(f'short-name "{spec.image}" did not resolve', image=spec.image)
        if spec.image != "docker.io/library/app:latest":
            return None
        return await super().image(ImageSpec(image=self._tag))


async def test_a_short_name_is_a_name_on_docker_hub_where_the_runtime_takes_no_short_ones(
    stand: Stand, tag: str
) -> None:
    host = await ensured(stand, stand.runtime, tag, "")
    runtime = KnowsNoShortNames(stand.runtime, tag)
    assert await found_id(stand, runtime, "app", "") == host.image_id
    assert await found_id(stand, runtime, "other", "") is None
    assert await found_id(stand, runtime, "NO NAME", "") is None
