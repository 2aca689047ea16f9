"""The images of pods are the digests that run, not what their tags mean today."""

import msgspec

from lading.api.core import Pod
from lading.pinned_images.running_images import RunningImage, running_images

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
    assert image == RunningImage(image=f"example.com/app@{DIGEST}", found_in="Pod shop/web")


def test_the_scheme_of_a_runtime_is_left_out() -> None:
    (image,) = found(pod("app", f"docker-pullable://example.com/app@{DIGEST}"))
    assert image.image == f"example.com/app@{DIGEST}"


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
