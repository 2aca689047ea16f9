"""Images by (image, runtime handler): each handler gets the image of its guests' platform."""

from pathlib import Path

import pytest

from lading.adapters.clock import SystemClock
from lading.embedded.cri.core import EmbeddedRuntime
from lading.kernel import platforms
from lading.kernel.errors import Malformed
from lading.ports import cri
from lading.ports.cri import ImageSpec
from tests.embedded.cri.memory_registry import MemoryRegistry

NAME = "r.io/python:3"


@pytest.fixture(autouse=True)
def index(registry: MemoryRegistry) -> None:
    registry.add_index(
        NAME,
        (
            registry.add_image(layers=(b"amd64",)),
            {"os": "linux", "architecture": "amd64"},
        ),
        (
            registry.add_image(layers=(b"arm64",), platform="linux/arm64"),
            {"os": "linux", "architecture": "arm64", "variant": "v8"},
        ),
        (
            registry.add_image(
                layers=(b"2022",), platform="windows/amd64", os_version="10.0.20348.1970"
            ),
            {"os": "windows", "architecture": "amd64", "os.version": "10.0.20348.1970"},
        ),
        (
            registry.add_image(
                layers=(b"2019",), platform="windows/amd64", os_version="10.0.17763.4851"
            ),
            {"os": "windows", "architecture": "amd64", "os.version": "10.0.17763.4851"},
        ),
        (
            registry.add_image(layers=(b"attestation",)),
            {"os": "unknown", "architecture": "unknown"},
        ),
    )


async def test_one_name_is_a_different_image_for_each_handler(runtime: EmbeddedRuntime) -> None:
    ids = {
        handler: await runtime.pull(ImageSpec(image=NAME, runtime_handler=handler))
        for handler in ("", "arm", "wcow-2019")
    }
    assert len(set(ids.values())) == 3
    for handler, image_id in ids.items():
        image = await runtime.image(ImageSpec(image=NAME, runtime_handler=handler))
        assert image is not None
        assert (image.id, image.runtime_handler) == (image_id, handler)
        assert image.repo_tags == (NAME,)


async def test_an_image_of_one_handler_is_not_there_for_another(runtime: EmbeddedRuntime) -> None:
    image_id = await runtime.pull(ImageSpec(image=NAME, runtime_handler="arm"))
    assert await runtime.image(ImageSpec(image=NAME)) is None
    assert await runtime.image(ImageSpec(image=image_id)) is None
    assert await runtime.image(ImageSpec(image=image_id, runtime_handler="kata")) is None
    assert await runtime.image(ImageSpec(image=image_id, runtime_handler="arm")) is not None


async def test_a_handler_without_a_guest_platform_uses_the_hosts_but_is_its_own_key(
    runtime: EmbeddedRuntime,
) -> None:
    default = await runtime.pull(ImageSpec(image=NAME))
    kata = await runtime.pull(ImageSpec(image=NAME, runtime_handler="kata"))
    assert default == kata
    listed = [(image.id, image.runtime_handler) for image in await runtime.images()]
    assert listed == [(default, ""), (default, "kata")]


async def test_removing_for_one_handler_leaves_the_others(runtime: EmbeddedRuntime) -> None:
    await runtime.pull(ImageSpec(image=NAME))
    await runtime.pull(ImageSpec(image=NAME, runtime_handler="kata"))
    await runtime.remove(ImageSpec(image=NAME, runtime_handler="kata"))
    assert [image.runtime_handler for image in await runtime.images()] == [""]
    inspection = await runtime.inspect(ImageSpec(image=NAME))
    assert inspection is not None, "the shared blobs are still there"


async def test_the_list_can_be_limited_to_a_handler(runtime: EmbeddedRuntime) -> None:
    await runtime.pull(ImageSpec(image=NAME))
    arm = await runtime.pull(ImageSpec(image=NAME, runtime_handler="arm"))
    only_arm = await runtime.images(ImageSpec(image="", runtime_handler="arm"))
    assert [image.id for image in only_arm] == [arm]
    by_both = await runtime.images(ImageSpec(image=NAME, runtime_handler="arm"))
    assert by_both == only_arm


@pytest.mark.parametrize("call", ["pull", "image", "inspect", "remove", "images"])
async def test_an_unknown_handler_is_rejected_by_every_call(
    runtime: EmbeddedRuntime, call: str
) -> None:
    with pytest.raises(cri.UnknownHandler, match="'gvisor' is configured; known: arm, kata"):
        await getattr(runtime, call)(ImageSpec(image=NAME, runtime_handler="gvisor"))


async def test_a_missing_platform_names_everything_that_is_offered(
    runtime: EmbeddedRuntime, registry: MemoryRegistry
) -> None:
    registry.add_index(
        "r.io/linux-only:1", (registry.add_image(), {"os": "linux", "architecture": "amd64"})
    )
    with pytest.raises(cri.NoMatchingPlatform) as caught:
        await runtime.pull(ImageSpec(image="r.io/linux-only:1", runtime_handler="wcow-2019"))
    assert str(caught.value) == (
        "r.io/linux-only:1: no image for windows(10.0.17763)/amd64: the index offers"
        " linux/amd64: the operating system is not windows"
    )


async def test_a_foreign_image_named_by_digest_is_taken_by_the_default_handler_only(
    runtime: EmbeddedRuntime, registry: MemoryRegistry
) -> None:
    foreign = registry.add_image(layers=(b"s390x",), platform="linux/s390x")
    name = f"r.io/python@{foreign.digest}"
    image_id = await runtime.pull(ImageSpec(image=name))
    assert (await runtime.images())[0].id == image_id
    with pytest.raises(cri.NoMatchingPlatform, match="s390x: the architecture is not arm64"):
        await runtime.pull(ImageSpec(image=name, runtime_handler="arm"))


async def test_an_entry_without_a_platform_is_judged_by_its_configuration(
    runtime: EmbeddedRuntime, registry: MemoryRegistry
) -> None:
    registry.add_index("r.io/bare:1", (registry.add_image(platform="linux/arm64"), None))
    await runtime.pull(ImageSpec(image="r.io/bare:1", runtime_handler="arm"))
    with pytest.raises(cri.NoMatchingPlatform, match="no image for linux/amd64: it is linux/arm64"):
        await runtime.pull(ImageSpec(image="r.io/bare:1"))


def test_a_guest_newer_than_its_host_is_refused_when_the_runtime_is_made(
    root: Path, registry: MemoryRegistry
) -> None:
    with pytest.raises(Malformed, match=r"handler 'uvm'.* is newer than the host's 10.0.17763"):
        EmbeddedRuntime(
            root=root,
            registry=registry,
            clock=SystemClock(),
            platform=platforms.parse("windows(10.0.17763)/amd64"),
            guests={"uvm": platforms.parse("windows(10.0.20348)/amd64")},
        )


async def test_the_status_lists_the_handlers_with_the_default_one(
    runtime: EmbeddedRuntime,
) -> None:
    status = await runtime.status()
    assert [handler.name for handler in status.handlers] == ["", "arm", "kata", "wcow-2019"]
