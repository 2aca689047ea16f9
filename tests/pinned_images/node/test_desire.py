"""What a node should hold, from the objects of the cluster."""

from collections.abc import Mapping

import msgspec
import pytest

from lading.api.machineconfiguration.pinned_image_set import PinnedImageSet
from lading.pinned_images.node import desire
from tests.pinned_images.node.worlds import NOW

DIGEST = "sha256:" + "a" * 64


def names_in(*images: Mapping[str, object], handlers: dict[str, str] | None = None) -> list[str]:
    made = msgspec.convert({"spec": {"pinnedImages": images}}, PinnedImageSet)
    found = desire.desired_set(made, handlers=handlers, first_seen={}, now=NOW)
    return [*map(str, found.images), *found.unresolvable]


@pytest.mark.parametrize(
    ("written", "listed"),
    [
        ("docker.io/nginx", "docker.io/library/nginx"),
        ("docker.io/team/app", "docker.io/team/app"),
        ("index.docker.io/nginx", "docker.io/library/nginx"),
        ("quay.io/nginx", "quay.io/nginx"),
    ],
)
def test_an_image_is_wanted_under_the_name_by_which_runtimes_list_it(
    written: str, listed: str
) -> None:
    assert names_in({"name": f"{written}@{DIGEST}"}) == [f"{listed}@{DIGEST}"]


def test_one_image_in_two_spellings_is_wanted_once() -> None:
    spellings = ({"name": f"{host}/nginx@{DIGEST}"} for host in desire.DOCKER_HUB_HOSTS)
    assert len(names_in(*spellings)) == 1


def test_an_image_is_wanted_for_each_of_its_runtime_classes() -> None:
    image = {"name": f"quay.io/app@{DIGEST}", "runtimeClassNames": ["kata", "absent"]}
    found = names_in(image, handlers={"kata": "kata-qemu"})
    assert found[0] == f"quay.io/app@{DIGEST} for kata-qemu"
    assert "'absent', which does not exist" in found[1]


def test_a_runtime_class_is_not_looked_for_while_its_gate_is_off() -> None:
    (problem,) = names_in({"name": f"quay.io/app@{DIGEST}", "runtimeClassNames": ["kata"]})
    assert "RuntimeClassInImageCriApi is off" in problem
