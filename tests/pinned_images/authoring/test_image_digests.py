"""The digests of images, from pods and from registries."""

import msgspec
import pytest

from lading.api.core import Pod
from lading.kernel.errors import Malformed
from lading.pinned_images.authoring import image_digests
from lading.pinned_images.authoring.image_digests import ImageDigests, RunningImage, running_images
from tests.pinned_images.served_registry import ServedRegistry, served

__all__ = ["served"]
DIGEST = f"sha256:{'1' * 64}"


async def resolved(served: ServedRegistry, *images: str) -> ImageDigests:
    places = {image: f"line {number}" for number, image in enumerate(images, start=1)}
    return await image_digests.resolved(served.client, places, show=lambda _count: None)


async def test_a_tag_becomes_the_digest_that_the_registry_has(served: ServedRegistry) -> None:
    image = await served.push("app:v1")
    found = await resolved(served, f"{served.host}/app:v1")
    assert found.names == {image.replace("app@", "app:v1@")}, "with the tag that pods name"
    assert found.unresolved == ()


async def test_an_image_by_digest_needs_no_registry(served: ServedRegistry) -> None:
    found = await resolved(served, f"busybox:1.36@{DIGEST}", f"no.such.host:1/a/b@{DIGEST}")
    assert found.names == {
        f"docker.io/library/busybox:1.36@{DIGEST}",
        f"no.such.host:1/a/b@{DIGEST}",
    }
    assert found.unresolved == ()


async def test_each_image_that_cannot_be_resolved_is_named_with_its_place(
    served: ServedRegistry,
) -> None:
    image = await served.push("app:v1")
    gone, closed = f"{served.host}/app:gone", "127.0.0.1:1/app:v1"
    found = await resolved(
        served, gone, f"{served.host}/app:v1", closed, "A b", f"x@sha512:{'0' * 128}"
    )
    assert found.names == {image.replace("app@", "app:v1@")}
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


DIGEST = f"sha256:{'1' * 64}"


def pod(image: str, image_id: str | None, *, phase: str = "Running") -> Pod:
    statuses = [] if image_id is None else [{"name": "c", "imageID": image_id}]
    body = {
        "metadata": {"namespace": "shop", "name": "web"},
        "spec": {"containers": [{"name": "c", "image": image}]},
        "status": {"phase": phase, "containerStatuses": statuses},
    }
    return msgspec.convert(body, Pod)


def found(one: Pod) -> list[RunningImage]:
    return list(running_images([one]))


def test_the_digest_that_runs_counts() -> None:
    (image,) = found(pod("example.com/app:v1", f"example.com/app@{DIGEST}"))
    assert image == RunningImage(image=f"example.com/app:v1@{DIGEST}", found_in="Pod shop/web")


def test_the_scheme_of_a_runtime_is_left_out() -> None:
    (image,) = found(pod("app", f"docker-pullable://docker.io/library/app@{DIGEST}"))
    assert image.image == f"docker.io/library/app:latest@{DIGEST}"


def test_a_tag_of_another_repository_is_left_out() -> None:
    (image,) = found(pod("app", f"example.com/app@{DIGEST}"))
    assert image.image == f"example.com/app@{DIGEST}"


def test_a_tag_beside_a_digest_is_no_name_that_the_pod_asks_for() -> None:
    (image,) = found(pod(f"example.com:5000/app:v1@{DIGEST}", f"example.com/app@{DIGEST}"))
    assert image.image == f"example.com:5000/app@{DIGEST}"


def test_a_container_that_has_not_started_counts_as_the_pod_names_it() -> None:
    assert [one.image for one in found(pod("example.com/app:v1", None))] == ["example.com/app:v1"]
    assert [one.image for one in found(pod("example.com/app:v1", ""))] == ["example.com/app:v1"]


def test_an_image_that_the_pod_names_by_digest_keeps_its_name() -> None:
    named = f"mirror.example.com/app@{DIGEST}"
    assert [one.image for one in found(pod(named, f"example.com/app@{DIGEST}"))] == [named]


def test_an_image_without_a_digest_is_a_problem() -> None:
    (image,) = found(pod("example.com/app:v1", f"docker://{DIGEST}"))
    assert image.problem == f"the runtime reports no digest for it: docker://{DIGEST}"


def test_a_pod_that_has_finished_counts_no_more() -> None:
    assert found(pod("app", f"example.com/app@{DIGEST}", phase="Succeeded")) == []


def test_init_and_ephemeral_containers_count() -> None:
    body = {
        "spec": {
            "initContainers": [{"name": "i", "image": "init"}],
            "ephemeralContainers": [{"name": "e", "image": "debug"}],
        },
        "status": {
            "initContainerStatuses": [{"name": "i", "imageID": f"a.b/init@{DIGEST}"}],
            "ephemeralContainerStatuses": [{"name": "e", "imageID": f"a.b/debug@{DIGEST}"}],
        },
    }
    images = [one.image for one in running_images([msgspec.convert(body, Pod)])]
    assert images == [f"a.b/init@{DIGEST}", f"a.b/debug@{DIGEST}"]
