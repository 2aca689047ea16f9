"""containerd's images service as an external client sees it: namespaces, masks, strictness."""

from collections.abc import AsyncIterator

import grpc
import grpc.aio
import pytest

from lading.adapters.cri import client
from lading.ports.cri import ImageSpec
from lading.servers.cri.core import EmbeddedRuntime
from lading.wire import containerd_images_pb2 as pb2
from lading.wire import rpc
from tests.servers.cri.memory_registry import MemoryRegistry

SERVICE = pb2.DESCRIPTOR.services_by_name["Images"]
KUBERNETES = (("containerd-namespace", "k8s.io"),)
TARGET = pb2.Descriptor(media_type="m", digest="d", size=1)


@pytest.fixture
async def channel(endpoint: str) -> AsyncIterator[grpc.aio.Channel]:
    async with client.channel_to(endpoint) as channel:
        yield channel


@pytest.fixture
async def image_id(runtime: EmbeddedRuntime, registry: MemoryRegistry) -> str:
    registry.add_image("r.io/a:1")
    return await runtime.pull(ImageSpec(image="r.io/a:1"))


async def listed(channel: grpc.aio.Channel, namespace: str) -> list[pb2.Image]:
    call = rpc.unary_call(channel, SERVICE, "List", pb2.ListImagesResponse)
    metadata = (("containerd-namespace", namespace),)
    return list((await call(pb2.ListImagesRequest(), metadata=metadata)).images)


async def update(channel: grpc.aio.Channel, image: pb2.Image, *paths: str) -> pb2.Image:
    call = rpc.unary_call(channel, SERVICE, "Update", pb2.UpdateImageResponse)
    request = pb2.UpdateImageRequest(image=image)
    request.update_mask.paths.extend(paths)
    return (await call(request, metadata=KUBERNETES)).image


async def test_a_pull_makes_the_three_names_that_containerd_makes(
    channel: grpc.aio.Channel, image_id: str, registry: MemoryRegistry
) -> None:
    digest = next(iter(registry.manifests))
    images = await listed(channel, "k8s.io")
    assert {image.name for image in images} == {image_id, "r.io/a:1", f"r.io/a@{digest}"}
    assert {image.target.digest for image in images} == {str(digest)}
    get = rpc.unary_call(channel, SERVICE, "Get", pb2.GetImageResponse)
    for image in images:
        answer = await get(pb2.GetImageRequest(name=image.name), metadata=KUBERNETES)
        assert answer.image == image


async def test_another_namespace_is_empty_and_none_at_all_is_refused(
    channel: grpc.aio.Channel, image_id: str
) -> None:
    assert await listed(channel, "default") == []
    call = rpc.unary_call(channel, SERVICE, "List", pb2.ListImagesResponse)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(pb2.ListImagesRequest())
    assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION


async def test_a_masked_update_changes_only_the_labels_it_names(
    channel: grpc.aio.Channel, image_id: str
) -> None:
    image = pb2.Image(name=image_id, target=TARGET, labels={"a.b/c": "1", "other": "2"})
    updated = await update(channel, image, "labels.a.b/c")
    assert dict(updated.labels) == {"a.b/c": "1"}
    assert updated.target.digest != TARGET.digest, "the mask leaves the target alone"
    updated = await update(channel, pb2.Image(name=image_id, target=TARGET), "labels.a.b/c")
    assert dict(updated.labels) == {}


@pytest.mark.parametrize(
    ("image", "path", "code"),
    [
        (pb2.Image(labels={"a": "1"}), "labels.a", grpc.StatusCode.INVALID_ARGUMENT),
        (pb2.Image(target=TARGET), "target", grpc.StatusCode.INVALID_ARGUMENT),
        (
            pb2.Image(target=TARGET, labels={"a": "x" * 4096}),
            "labels.a",
            grpc.StatusCode.INVALID_ARGUMENT,
        ),
        (pb2.Image(name="r.io/none:1", target=TARGET), "labels.a", grpc.StatusCode.NOT_FOUND),
    ],
    ids=["no target, which crashes containerd", "not a label", "too long", "no such image"],
)
async def test_a_wrong_update_is_refused_and_changes_nothing(
    channel: grpc.aio.Channel, image_id: str, image: pb2.Image, path: str, code: grpc.StatusCode
) -> None:
    before = await listed(channel, "k8s.io")
    wrong = pb2.Image(name=image_id)
    wrong.MergeFrom(image)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await update(channel, wrong, path)
    assert caught.value.code() is code
    assert await listed(channel, "k8s.io") == before


async def test_labels_go_with_the_image(
    channel: grpc.aio.Channel, image_id: str, runtime: EmbeddedRuntime
) -> None:
    image = pb2.Image(name=image_id, target=TARGET, labels={"a": "1"})
    await update(channel, image, "labels.a")
    await runtime.remove(ImageSpec(image=image_id))
    await runtime.pull(ImageSpec(image="r.io/a:1"))
    assert all(not image.labels for image in await listed(channel, "k8s.io"))
