"""containerd's images service as an external client sees it: namespaces, masks, strictness."""

from collections.abc import AsyncIterator

import pytest
from grpclib.const import Status

from lading.embedded.cri.core import EmbeddedRuntime
from lading.ports.cri import ImageSpec
from lading.wire import calls
from lading.wire import containerd_images_pb2 as pb2
from lading.wire.calls import CallFailed, Channel
from tests.embedded.cri.memory_registry import MemoryRegistry

SERVICE = pb2.DESCRIPTOR.services_by_name["Images"]
KUBERNETES = (("containerd-namespace", "k8s.io"),)
TARGET = pb2.Descriptor(media_type="m", digest="d", size=1)


@pytest.fixture
async def channel(endpoint: str) -> AsyncIterator[Channel]:
    async with calls.channel_to(endpoint) as channel:
        yield channel


@pytest.fixture
async def image_id(runtime: EmbeddedRuntime, registry: MemoryRegistry) -> str:
    registry.add_image("r.io/a:1")
    return await runtime.pull(ImageSpec(image="r.io/a:1"))


async def listed(channel: Channel, namespace: str) -> list[pb2.Image]:
    metadata = (("containerd-namespace", namespace),)
    request = pb2.ListImagesRequest()
    answer = await channel.call(SERVICE, "List", request, pb2.ListImagesResponse, metadata=metadata)
    return list(answer.images)


async def update(channel: Channel, image: pb2.Image, *paths: str) -> pb2.Image:
    request = pb2.UpdateImageRequest(image=image)
    request.update_mask.paths.extend(paths)
    answer = await channel.call(
        SERVICE, "Update", request, pb2.UpdateImageResponse, metadata=KUBERNETES
    )
    return answer.image


async def test_a_pull_makes_the_three_names_that_containerd_makes(
    channel: Channel, image_id: str, registry: MemoryRegistry
) -> None:
    digest = next(iter(registry.manifests))
    images = await listed(channel, "k8s.io")
    assert {image.name for image in images} == {image_id, "r.io/a:1", f"r.io/a@{digest}"}
    assert {image.target.digest for image in images} == {str(digest)}
    for image in images:
        request = pb2.GetImageRequest(name=image.name)
        answer = await channel.call(
            SERVICE, "Get", request, pb2.GetImageResponse, metadata=KUBERNETES
        )
        assert answer.image == image


async def test_another_namespace_is_empty_and_none_at_all_is_refused(
    channel: Channel, image_id: str
) -> None:
    assert await listed(channel, "default") == []
    with pytest.raises(CallFailed) as caught:
        await channel.call(SERVICE, "List", pb2.ListImagesRequest(), pb2.ListImagesResponse)
    assert caught.value.status is Status.FAILED_PRECONDITION


async def test_a_masked_update_changes_only_the_labels_it_names(
    channel: Channel, image_id: str
) -> None:
    image = pb2.Image(name=image_id, target=TARGET, labels={"a.b/c": "1", "other": "2"})
    updated = await update(channel, image, "labels.a.b/c")
    assert dict(updated.labels) == {"a.b/c": "1"}
    assert updated.target.digest != TARGET.digest, "the mask leaves the target alone"
    updated = await update(channel, pb2.Image(name=image_id, target=TARGET), "labels.a.b/c")
    assert dict(updated.labels) == {}


@pytest.mark.parametrize(
    ("image", "path", "status"),
    [
        (pb2.Image(labels={"a": "1"}), "labels.a", Status.INVALID_ARGUMENT),
        (pb2.Image(target=TARGET), "name", Status.INVALID_ARGUMENT),
        (pb2.Image(target=TARGET), "target", Status.NOT_FOUND),
        (
            pb2.Image(target=TARGET, labels={"a": "x" * 4096}),
            "labels.a",
            Status.INVALID_ARGUMENT,
        ),
        (pb2.Image(name="r.io/none:1", target=TARGET), "labels.a", Status.NOT_FOUND),
    ],
    ids=[
        "no target, which crashes containerd",
        "not a label",
        "no such content",
        "too long",
        "no such image",
    ],
)
async def test_a_wrong_update_is_refused_and_changes_nothing(
    channel: Channel, image_id: str, image: pb2.Image, path: str, status: Status
) -> None:
    before = await listed(channel, "k8s.io")
    wrong = pb2.Image(name=image_id)
    wrong.MergeFrom(image)
    with pytest.raises(CallFailed) as caught:
        await update(channel, wrong, path)
    assert caught.value.status is status
    assert await listed(channel, "k8s.io") == before


async def test_labels_go_with_the_image(
    channel: Channel, image_id: str, runtime: EmbeddedRuntime
) -> None:
    image = pb2.Image(name=image_id, target=TARGET, labels={"a": "1"})
    await update(channel, image, "labels.a")
    await runtime.remove(ImageSpec(image=image_id))
    await runtime.pull(ImageSpec(image="r.io/a:1"))
    assert all(not image.labels for image in await listed(channel, "k8s.io"))
