"""Which image a name means for a runtime class, on both kinds of runtime."""

import pytest

from lading.ports.cri import Cri, ImageSpec
from lading.runtime_images import ensure, lookup
from lading.runtime_images.ensure import Ensured, Node, Wanted
from lading.runtime_images.gate import WithoutHandlers
from tests.runtime_images.conftest import GUESTS, Stand

LAYERS = {"linux/amd64": [b"for the host"], "linux/arm64": [b"for arm guests"]}


@pytest.fixture
async def tag(stand: Stand) -> str:
    return await stand.publisher.index("app:1", LAYERS)


async def ensured(stand: Stand, runtime: Cri, tag: str, handler: str) -> Ensured:
    node = Node(runtime=runtime, registry=stand.registry, document=stand.document, guests=GUESTS)
    return await ensure.ensure(Wanted(image=tag, runtime_handler=handler), node)


async def found_id(stand: Stand, runtime: Cri, name: str, handler: str) -> str | None:
    spec = ImageSpec(image=name, runtime_handler=handler)
    found = await lookup.find(runtime, stand.document, spec)
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
