"""What sets in files would mean for each node: every number and every reason."""

from typing import Any

from lading.kernel.images import ImageKey, Layer
from lading.pinned_images.node.preview import Preview, UnavailableImage
from lading.web.views import pins
from lading.web.views.pins import PlannedSets

NEW, OLD = (
    ImageKey("registry.example.com/new@sha256:1"),
    ImageKey("registry.example.com/old@sha256:2"),
)


def node(**fields: Any) -> dict[str, Any]:
    defaults: dict[str, Any] = {
        "node_name": "n", "set_names": ("s",), "wanted": frozenset({NEW, OLD}),
        "wanted_before": frozenset({OLD}), "missing": (NEW, OLD), "to_pull": (NEW, OLD),
        "unknown": (), "pull_layers": frozenset({Layer("sha256:1", 10)}), "disk_bytes": 20,
        "free_bytes": 100, "reserve_bytes": 0, "refusals": (),
    }  # fmt: skip
    preview = Preview(**{**defaults, **fields})
    planned = PlannedSets(files=("s.yaml",), previews=[preview], complaints=["it does not hold"])
    value = pins.plan_value(planned)
    assert value["complaints"] == ["it does not hold"]
    [found] = value["nodes"]
    return dict(found)


def test_a_node_has_its_numbers_and_the_images_that_are_new() -> None:
    found = node()
    assert (found["added"], found["before"], found["toPull"]) == (1, 1, 2)
    assert (found["downloadBytes"], found["freeBytes"], found["freeAfterBytes"]) == (10, 100, 80)
    assert [one["isAdded"] for one in found["images"]] == [True, False]
    assert not found["isAtLeast"]


def test_an_image_of_unknown_size_makes_the_download_a_least() -> None:
    assert node(unknown=(NEW,))["isAtLeast"]


def test_every_reason_why_it_does_not_hold_is_a_problem() -> None:
    gone = UnavailableImage(key=NEW, reason="NotFound", message="the registry has no such image")
    found = node(
        refusals=("it does not fit",), unavailable=(gone,), space_problem="the disk is not seen"
    )
    assert found["problems"] == [
        "it does not fit", "the registry has no such image", "the disk is not seen",
    ]  # fmt: skip
    assert node(space_problem="the disk is not seen", missing=())["problems"] == []
