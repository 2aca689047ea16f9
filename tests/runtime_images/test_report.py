"""A plan of garbage collection as JSON: every figure is that of the plan."""

from typing import Any

import msgspec

from lading.kernel.values import replace
from lading.ports.node import Space
from lading.runtime_images import plan as planning
from lading.runtime_images import report
from lading.runtime_images.gc_types import GcPolicy, ObservedImages
from lading.runtime_images.types import DigestPull
from tests.runtime_images.builders import FULL, GIGABYTE, NOW, image, image_id, key, layer, records

DIGEST = f"registry.example/old@{image_id('old')}"
OLD = replace(image("old", gigabytes=4), repo_digests=(DIGEST,))
PINNED = image("pinned", pinned=True)
OF_KATA = image("zone", handler="kata", gigabytes=2)
FOR_KATA = DigestPull(reference="old", runtime_handler="kata", platform="", pulled=DIGEST)
POLICY = GcPolicy(high_threshold_percent=88, low_threshold_percent=87)


def reported(**observed: Any) -> dict[str, Any]:
    images = (OLD, PINNED, OF_KATA)
    default: dict[str, Any] = {"images": images, "space": FULL, "records": records(*images)}
    plan = planning.plan(ObservedImages(**{**default, **observed}), POLICY, NOW)
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(report.collection_report(plan)))
    return found


def test_the_figures_of_the_node_are_those_of_the_plan() -> None:
    found = reported()
    del found["verdicts"]
    assert found == {
        "plannedAt": "2026-03-01T12:00:00Z",
        "highThresholdPercent": 88,
        "lowThresholdPercent": 87,
        "usedPercent": 90,
        "wantedBytes": 3 * GIGABYTE,
        "freedBytes": 4 * GIGABYTE,
        "spaceIsKnown": True,
        "sandboxImageIsKnown": False,
    }
    assert reported(sandbox_image="registry.example/pause:1")["sandboxImageIsKnown"]


def test_of_a_disk_that_cannot_be_seen_nothing_is_claimed() -> None:
    found = reported(space=None)
    assert (found["usedPercent"], found["spaceIsKnown"], found["wantedBytes"]) == (None, False, 0)


def test_an_image_that_goes_has_its_size_and_what_its_removal_frees() -> None:
    """A layer that it shares with an image that stays is not freed."""
    shared, own = layer("shared", gigabytes=1), layer("own", gigabytes=3)
    layers = {key("old"): (shared, own), key("pinned"): (shared,)}
    first = reported(layers=layers, digest_pulls=(FOR_KATA,))["verdicts"][0]
    assert first == {
        "id": OLD.id,
        "runtimeHandler": "",
        "byDigestForHandlers": ["kata"],
        "servesHandlers": ["", "kata"],
        "names": ["registry.example/old:1", DIGEST],
        "sizeBytes": 4 * GIGABYTE,
        "decision": "remove",
        "reason": "MakesRoom",
        "message": "the least recently used, and space is needed",
        "freesBytes": 3 * GIGABYTE,
    }


def test_what_is_kept_has_its_reason_and_its_handler() -> None:
    room = Space(capacity_bytes=100 * GIGABYTE, available_bytes=20 * GIGABYTE)
    found = {one["id"]: one for one in reported(space=room)["verdicts"]}
    kept = found[PINNED.id]
    assert (kept["decision"], kept["reason"], kept["freesBytes"]) == ("keep", "Pinned", 0)
    guest = found[OF_KATA.id]
    assert (guest["runtimeHandler"], guest["servesHandlers"]) == ("kata", ["kata"])
