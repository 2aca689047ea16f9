"""What a node should hold, from the objects of the cluster."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
import yaml

from lading.api.core import Node
from lading.api.machineconfiguration.machine_config_pool import MachineConfigPool
from lading.api.machineconfiguration.pinned_image_set import PinnedImageSet
from lading.pinned_images.node import desired_state
from lading.pinned_images.node.types import PinSettings

DIGEST = "sha256:" + "a" * 64
UNASKED = PinSettings()


def names_in(*images: Mapping[str, object], handlers: dict[str, str] | None = None) -> list[str]:
    made = msgspec.convert({"spec": {"pinnedImages": images}}, PinnedImageSet)
    (found,) = desired_state.desired_sets([made], handlers=handlers)
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
    spellings = ({"name": f"{host}/nginx@{DIGEST}"} for host in ("docker.io", "index.docker.io"))
    assert len(names_in(*spellings)) == 1


def test_an_image_is_wanted_for_each_of_its_runtime_classes() -> None:
    image = {"name": f"quay.io/app@{DIGEST}", "runtimeClassNames": ["kata", "absent"]}
    found = names_in(image, handlers={"kata": "kata-qemu"})
    assert found[0] == f"quay.io/app@{DIGEST} for kata-qemu"
    assert "'absent', which does not exist" in found[1]


def test_a_runtime_class_is_a_problem_while_its_gate_is_off() -> None:
    (problem,) = names_in({"name": f"quay.io/app@{DIGEST}", "runtimeClassNames": ["kata"]})
    assert "RuntimeClassInImageCriApi is off" in problem


def settings_of(
    *, machines: int = 0, labels: dict[str, str] | None = None, given: PinSettings = UNASKED
) -> PinSettings:
    node = msgspec.convert({"metadata": {"name": "n", "labels": labels or {"in": "yes"}}}, Node)
    counts = dict.fromkeys(("updated", "ready", "available", "unavailable"), 0)
    pool = msgspec.convert(
        {
            "metadata": {"name": "p"},
            "spec": {"nodeSelector": {"matchLabels": {"in": "yes"}}},
            "status": {
                "poolSynchronizersStatus": [
                    {
                        "poolSynchronizerType": "PinnedImageSets",
                        "machineCount": machines,
                        **{f"{name}MachineCount": count for name, count in counts.items()},
                    }
                ]
            },
        },
        MachineConfigPool,
    )
    made = desired_state.desired(node, [pool], [], handlers=None, settings=given, generation=1)
    return made.settings


def test_a_control_plane_node_pulls_two_at_once_and_others_eight_or_as_configured() -> None:
    labels = {"node-role.kubernetes.io/control-plane": ""}
    assert settings_of().parallel_pulls_max == 8
    assert settings_of(labels=labels).parallel_pulls_max == 2
    assert (
        settings_of(labels=labels, given=PinSettings(parallel_pulls_max=1)).parallel_pulls_max == 1
    )
    assert settings_of(given=PinSettings(parallel_pulls_max=12)).parallel_pulls_max == 12


@pytest.mark.parametrize(("machines", "seconds"), [(0, 0), (1, 0.1), (100, 10), (5000, 60)])
def test_the_more_machines_a_pool_has_the_longer_its_start_is_spread(
    machines: int, seconds: float
) -> None:
    assert settings_of(machines=machines).start_spread == timedelta(seconds=seconds)


def test_example_04_pins_its_image_for_the_host_and_for_the_guests() -> None:
    example = Path(__file__).parents[3] / "examples" / "04-runtime-classes/sets.yaml"
    made = [
        msgspec.convert(one, PinnedImageSet)
        for one in yaml.safe_load_all(example.read_text(encoding="utf-8"))
        if one["kind"] == "PinnedImageSet"
    ]
    sets = desired_state.desired_sets(made, handlers={"kata": "kata"})
    assert len({one.name for one in sets}) == len(sets), "one would replace the other"
    keys = [key for one in sets for key in one.images]
    assert len({key.image for key in keys}) == 1
    assert {key.runtime_handler for key in keys} == {"", "kata"}


def tagged(name: str, image: str, *tags: str, **more: object) -> PinnedImageSet:
    entry = {"name": image, "tags": tags, **more}
    body = {"metadata": {"name": name}, "spec": {"pinnedImages": [entry]}}
    return msgspec.convert(body, PinnedImageSet)


def test_a_tag_is_a_name_in_the_repository_of_its_image() -> None:
    made = tagged("s", f"docker.io/nginx@{DIGEST}", "1.27", "stable")
    (found,) = desired_state.desired_sets([made], handlers=None)
    (image,) = found.images
    assert found.tags == {
        "docker.io/library/nginx:1.27": image,
        "docker.io/library/nginx:stable": image,
    }


def test_the_first_set_gets_a_tag_that_two_sets_want_for_different_images() -> None:
    first, second = f"quay.io/app@{DIGEST}", f"quay.io/app@sha256:{'b' * 64}"
    sets = tagged("a", first, "v1"), tagged("b", second, "v1", "v2"), tagged("c", first, "v1")
    a, b, c = desired_state.desired_sets(sets, handlers=None)
    assert [*a.tags, *c.tags, *b.tags] == ["quay.io/app:v1", "quay.io/app:v1", "quay.io/app:v2"]
    assert (a.unresolvable, c.unresolvable) == ((), ())
    assert b.unresolvable == (
        f"quay.io/app:v1 means {first} on this node, for set a, and not {second}",
    )


def test_an_image_for_runtime_classes_gets_no_tag() -> None:
    made = tagged("s", f"quay.io/app@{DIGEST}", "v1", runtimeClassNames=["kata"])
    (found,) = desired_state.desired_sets([made], handlers={"kata": "kata"})
    assert found.tags == {}
