"""Images of a node by runtime class, with the verdicts of garbage collection."""

from collections.abc import Iterable
from typing import Any

import pytest

from lading.api.core import RuntimeClass
from lading.api.machineconfiguration.pinned_image_set import (
    PinnedImage,
    PinnedImageSet,
    PinnedImageSetSpec,
)
from lading.kernel.objects import ObjectMeta
from lading.kernel.values import replace
from lading.runtime_images.gc_types import GcReason
from lading.web.views import collection, pins
from tests.web import reports


def runtime_class(name: str, handler: str) -> RuntimeClass:
    return RuntimeClass(metadata=ObjectMeta(name=name), handler=handler)


def value(*verdicts: Any, classes: Iterable[RuntimeClass] = ()) -> dict[str, Any]:
    return collection.value(reports.collection(*verdicts), classes, {})


def test_images_are_grouped_by_the_classes_that_they_serve_the_default_first() -> None:
    classes = [runtime_class("b", "kata"), runtime_class("a", "kata"), runtime_class("c", "other")]
    found = value(
        reports.verdict("guest:1", handlers=("kata",)),
        reports.verdict("both:1", handlers=("", "kata")),
        reports.verdict("host:1"),
        reports.verdict("gone:1", handlers=("removed-class",)),
        classes=classes,
    )
    assert [
        (one["name"], [image["names"] for image in one["images"]]) for one in found["groups"]
    ] == [
        ("Default runtime", [["host:1"]]),
        ("Default runtime, a, b", [["both:1"]]),
        ("a, b", [["guest:1"]]),
        ("handler removed-class", [["gone:1"]]),
    ]


def test_a_verdict_is_shown_as_the_agent_gave_it() -> None:
    found = value(
        reports.verdict("app:1", goes=True, message="the least recently used"),
        reports.verdict("app:2", reason=GcReason.IN_USE, message="run by container web"),
    )
    [group] = found["groups"]
    assert [(one["goes"], one["reason"], one["message"]) for one in group["images"]] == [
        (True, "MakesRoom", "the least recently used"),
        (False, "InUse", "run by container web"),
    ]
    assert [(one["sizeBytes"], one["freesBytes"]) for one in group["images"]] == [
        (2048, 1024),
        (2048, 0),
    ]
    assert (found["plannedAt"], found["freedBytes"]) == ("2026-01-01T00:00:00Z", 1024)


@pytest.mark.parametrize("used", [90, None])
def test_the_disk_is_shown_beside_both_thresholds(used: int | None) -> None:
    found = collection.value(reports.collection(used_percent=used), (), {})
    assert [found[name] for name in ("usedPercent", "highPercent", "lowPercent")] == [used, 85, 80]


def test_an_image_is_kept_by_the_sets_that_want_it_for_its_runtime_class() -> None:
    def image_set(name: str, *classes: str) -> PinnedImageSet:
        entry = PinnedImage(name="a/b@sha256:1", runtime_class_names=classes)
        metadata = ObjectMeta(name=name)
        return PinnedImageSet(metadata=metadata, spec=PinnedImageSetSpec(pinned_images=(entry,)))

    classes = [runtime_class("guests", "kata")]
    pinned = pins.sets_by_digest(
        [image_set("host"), image_set("virtual", "guests"), image_set("other", "unknown")], classes
    )
    found = collection.value(
        reports.collection(
            reports.verdict("a/b@sha256:1"), reports.verdict("a/b@sha256:1", handlers=("kata",))
        ),
        classes,
        pinned,
    )
    assert [one["images"][0]["sets"] for one in found["groups"]] == [["host"], ["virtual"]]


def test_what_is_not_shown_is_counted_all_the_same() -> None:
    verdicts = [reports.verdict(f"app:{number}", goes=True) for number in range(501)]
    found = value(*verdicts)
    assert (found["count"], found["goes"], len(found["groups"][0]["images"])) == (501, 501, 500)


def test_names_and_texts_are_without_secrets() -> None:
    secret = "https://user:hunter2@registry.example.com"
    verdict = reports.verdict(secret, message=f"run by container {secret}")
    [group] = value(replace(verdict, id="sha256:1"))["groups"]
    assert "hunter2" not in str(group)
