"""ImageStreams, Images and LimitRanges as the API shows them."""

from typing import Any

import pytest

from lading.ports import kube
from lading.pruning.engine.inventory import observe_streams
from lading.pruning.engine.inventory.observe_streams import NoImageStreams
from lading.pruning.engine.progress import PruneProgress
from lading.pruning.engine.references import observe
from tests.pruning import paging_server
from tests.pruning.builders import ago, digest, stamp
from tests.pruning.fake_clusters import PODS, FakeCluster, kind
from tests.pruning.paging_server import ManyImages

STREAMS = kind("imagestreams", "ImageStream", "image.openshift.io")
IMAGES = kind("images", "Image", "image.openshift.io")
LIMITS = kind("limitranges", "LimitRange")


@pytest.mark.parametrize(
    ("annotations", "managed"),
    [
        (None, False),
        ({}, False),
        ({"openshift.io/image.managed": "true"}, True),
        *(
            ({"openshift.io/image.managed": text}, False)
            for text in ("false", "0", "1", "True", "yes", "Yes")
        ),
    ],
)
def test_a01_to_a09_only_the_exact_annotation_means_managed(
    annotations: dict[str, str] | None, managed: bool
) -> None:
    document = {"metadata": {"name": digest("id"), "annotations": annotations}}
    assert observe_streams.image(document).is_managed is managed


def test_an_image_names_layers_configuration_and_sizes() -> None:
    document = {
        "metadata": {"name": digest("id"), "creationTimestamp": stamp(5)},
        "dockerImageLayers": [{"name": digest("l"), "size": 7}, {"name": digest("l"), "size": 7}],
        "dockerImageMetadata": {"Id": digest("c"), "Size": 9, "Created": stamp(500)},
    }
    found = observe_streams.image(document)
    assert found.blobs == (digest("l"), digest("c"))
    assert found.size_bytes == 9
    assert observe_streams.layer_sizes(document) == {digest("l"): 7}
    assert (found.pushed_at, found.created_at) == (ago(5), ago(500))


def test_an_index_names_its_manifests_and_no_configuration() -> None:
    document = {
        "metadata": {"name": digest("id")},
        "dockerImageManifests": [{"digest": digest("arm")}, {"digest": digest("amd")}],
        "dockerImageMetadata": {"Id": digest("c")},
    }
    found = observe_streams.image(document)
    assert (found.children, found.blobs) == ((digest("arm"), digest("amd")), ())


@pytest.mark.parametrize("status", [None, {}, {"tags": None}, {"tags": [{"tag": "t"}]}])
def test_a_stream_without_history_is_empty(status: Any) -> None:
    document = {"metadata": {"name": "n", "namespace": "ns"}, "status": status}
    found = observe_streams.repository(document, {})
    assert found.name == "ns/n"
    assert not any(tag.revisions for tag in found.tags)


async def test_the_smallest_image_limit_of_a_namespace_counts() -> None:
    def limits(namespace: str, *sizes: str, kind_of_limit: str = "openshift.io/Image") -> Any:
        entries = [{"type": kind_of_limit, "max": {"storage": size}} for size in sizes]
        return {"metadata": {"namespace": namespace}, "spec": {"limits": entries}}

    stream = {"metadata": {"name": "n", "namespace": "ns"}}
    pages = {
        "limitranges": [
            [limits("ns", "2Ki", "1Ki", "3Ki"), limits("ns", "1", kind_of_limit="Container")],
            [limits("ns", "garbage"), limits("other", "5")],
        ],
        "imagestreams": [[stream]],
    }
    cluster = FakeCluster(served=(PODS, STREAMS, IMAGES, LIMITS), pages=pages)
    found = await observe_streams.inventory(cluster, "r", PruneProgress())
    assert found.repositories["ns/n"].size_limit_bytes == 1024


async def test_the_names_of_the_registry_come_from_its_streams() -> None:
    def stream(*repositories: str) -> dict[str, Any]:
        fields = ("dockerImageRepository", "publicDockerImageRepository")
        return {"metadata": {}, "status": dict(zip(fields, repositories, strict=False))}

    pages = {"imagestreams": [[stream("svc:5000/a/b"), stream("svc:5000/a/c", "route.test/a/c")]]}
    cluster = FakeCluster(served=(PODS, STREAMS, IMAGES), pages=pages)
    assert await observe_streams.registry_hosts(cluster) == ("svc:5000", "route.test")
    assert await observe_streams.registry_hosts(FakeCluster()) is None


@pytest.mark.parametrize(
    ("status", "hosts"),
    [
        (
            {
                "internalRegistryHostname": "svc:5000",
                "externalRegistryHostnames": ["route.test", "svc:5000"],
            },
            ("svc:5000", "route.test"),
        ),
        ({"internalRegistryHostname": "", "externalRegistryHostnames": None}, ()),
        ({"internalRegistryHostname": "me@host", "externalRegistryHostnames": ["a/b", 7]}, ()),
        (None, ()),
    ],
)
async def test_the_registry_of_a_cluster_is_what_its_image_config_names(
    status: Any, hosts: tuple[str, ...]
) -> None:
    config = {"metadata": {"name": "cluster"}, "status": status}
    cluster = FakeCluster(objects={"cluster": config})
    assert await observe_streams.integrated_hosts(cluster) == hosts


async def test_without_an_image_config_a_cluster_has_no_registry_of_its_own() -> None:
    """Also where streams name one: users write that, where the cluster has none."""
    stream = {"metadata": {}, "status": {"dockerImageRepository": "evil.test/a/b"}}
    cluster = FakeCluster(served=(PODS, STREAMS, IMAGES), pages={"imagestreams": [[stream]]})
    assert await observe_streams.integrated_hosts(cluster) == ()


@pytest.mark.parametrize("sends_continuation", [True, False])
async def test_many_images_take_little_memory_though_their_list_expires(
    sends_continuation: bool,
) -> None:
    """In whole documents, or in one piece, these would take some 75 MB."""
    images = ManyImages(
        count=4_000, expire_at=[1_500, 2_500, 3_000], sends_continuation=sends_continuation
    )
    async with paging_server.serving(images) as url:
        found = await paging_server.read_in_a_process(url)
    assert found["images"] == images.count
    assert images.expire_at == [], "the list expired as often as it was to"
    assert set(images.limits) == {observe.PAGE_OBJECTS}
    assert found["most"] - found["start"] < 40e6


async def test_a_list_of_images_that_always_expires_is_an_error() -> None:
    cluster = FakeCluster(
        served=(PODS, STREAMS, IMAGES),
        pages={"images": [[], []]},
        errors={"images": [kube.Gone("too old") for _ in range(1000)]},
    )
    with pytest.raises(kube.Gone, match="expired 100 times"):
        await observe_streams.inventory(cluster, "r", PruneProgress())


async def test_a_cluster_without_image_streams_is_an_error() -> None:
    with pytest.raises(NoImageStreams, match=r"has no ImageStreams"):
        await observe_streams.inventory(FakeCluster(), "r", PruneProgress())
