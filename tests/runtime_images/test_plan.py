"""Garbage collection as a table: what is on the node, and what happens to each image and why."""

from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from lading.kernel.errors import Malformed
from lading.kernel.values import replace
from lading.ports.cri import ContainerState, ImageSpec
from lading.ports.node import Space
from lading.runtime_images import plan as planning
from lading.runtime_images.gc_types import (
    GcPolicy,
    GcReason,
    ObservedImages,
    RemoveImage,
    WriteImageRecords,
)
from lading.runtime_images.types import DigestPull
from tests.runtime_images.builders import (
    EMPTY,
    FULL,
    GIGABYTE,
    NOW,
    container,
    image,
    image_id,
    key,
    layer,
    records,
)

A, B, C = image("a"), image("b"), image("c")
KATA = image("a", handler="kata")
PAUSE = image("p", tag="registry.example/pause:3.9")
DIGEST = f"registry.example/b@{image_id('b')}"
BY_DIGEST = replace(B, repo_tags=(), repo_digests=(DIGEST,))
FOR_KATA = DigestPull(reference="b", runtime_handler="kata", platform="", pulled=DIGEST)
EVERYTHING = GcPolicy(everything_unused=True)


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    observed: ObservedImages
    policy: GcPolicy = field(default_factory=GcPolicy)
    verdicts: dict[str, GcReason]
    """By name of the image, with its handler after a slash, in the order of the plan."""


CASES = (
    Case(
        name="below the high threshold nothing is removed",
        observed=ObservedImages(images=(A,), space=EMPTY, records=records(A)),
        verdicts={"a": GcReason.SPACE_SUFFICES},
    ),
    Case(
        name="over the high threshold the least recently used go until the low one is reached",
        observed=ObservedImages(
            images=tuple(image(name, gigabytes=6) for name in "abc"),
            space=FULL,
            records=records(
                A, B, C, a=timedelta(hours=1), b=timedelta(hours=3), c=timedelta(days=1)
            ),
        ),
        verdicts={"c": GcReason.MAKES_ROOM, "b": GcReason.MAKES_ROOM, "a": GcReason.SPACE_SUFFICES},
    ),
    Case(
        name="what was never used goes before what was",
        observed=ObservedImages(
            images=(image("a", gigabytes=10), B),
            space=FULL,
            records=records(A, B, b=timedelta(days=9)),
        ),
        verdicts={"a": GcReason.MAKES_ROOM, "b": GcReason.SPACE_SUFFICES},
    ),
    Case(
        name="a pinned image stays however full the disk is",
        observed=ObservedImages(images=(replace(A, pinned=True),), space=FULL, records=records(A)),
        policy=EVERYTHING,
        verdicts={"a": GcReason.PINNED},
    ),
    Case(
        name="the image of a running container stays",
        observed=ObservedImages(
            images=(A, B), containers=(container("a"),), space=FULL, records=records(A, B)
        ),
        verdicts={"b": GcReason.MAKES_ROOM, "a": GcReason.IN_USE},
    ),
    Case(
        name="the image of an exited container stays, as the kubelet has it",
        observed=ObservedImages(
            images=(A,),
            containers=(container("a", state=ContainerState.EXITED),),
            space=FULL,
            records=records(A),
        ),
        verdicts={"a": GcReason.IN_USE},
    ),
    Case(
        name="an image that a container mounts stays",
        observed=ObservedImages(
            images=(A, B),
            containers=(container("a", mounts="b"),),
            space=FULL,
            records=records(A, B),
        ),
        verdicts={"a": GcReason.IN_USE, "b": GcReason.IN_USE},
    ),
    Case(
        name="use for one handler does not keep the same image of another",
        observed=ObservedImages(
            images=(A, KATA),
            containers=(container("a", handler="kata"),),
            space=FULL,
            records=records(A, KATA),
        ),
        verdicts={"a": GcReason.MAKES_ROOM, "a/kata": GcReason.IN_USE},
    ),
    Case(
        name="an image volume is matched with its handler too",
        observed=ObservedImages(
            images=(B, image("b", handler="kata"), KATA),
            containers=(container("a", handler="kata", mounts="b"),),
            space=FULL,
            records=records(B, image("b", handler="kata"), KATA),
        ),
        verdicts={"b": GcReason.MAKES_ROOM, "a/kata": GcReason.IN_USE, "b/kata": GcReason.IN_USE},
    ),
    Case(
        name="an image that is not listed for its container's handler stays for every handler",
        observed=ObservedImages(
            images=(KATA,), containers=(container("a"),), space=FULL, records=records(KATA)
        ),
        verdicts={"a/kata": GcReason.IN_USE},
    ),
    Case(
        name="a container that names no image keeps every image",
        observed=ObservedImages(
            images=(A,),
            containers=(replace(container("x"), image_id="", image=ImageSpec(image="")),),
            space=FULL,
            records=records(A),
        ),
        verdicts={"a": GcReason.USE_UNKNOWN},
    ),
    Case(
        name="a container that only has a name for its image keeps the image of that name",
        observed=ObservedImages(
            images=(image("a", tag="docker.io/library/busybox:latest"), B),
            containers=(replace(container("a"), image_id="", image=ImageSpec(image="busybox")),),
            space=FULL,
            records=records(A, B),
        ),
        verdicts={"b": GcReason.MAKES_ROOM, "a": GcReason.IN_USE},
    ),
    Case(
        name="a container with an unknown image ID keeps the image of the name it has",
        observed=ObservedImages(
            images=(A, B),
            containers=(replace(container("a"), image_id="sha256:moved"),),
            space=FULL,
            records=records(A, B),
        ),
        verdicts={"b": GcReason.MAKES_ROOM, "a": GcReason.IN_USE},
    ),
    Case(
        name="a container keeps nothing else when its image was removed under it",
        observed=ObservedImages(
            images=(B,), containers=(container("a"),), space=FULL, records=records(B)
        ),
        verdicts={"b": GcReason.MAKES_ROOM},
    ),
    Case(
        name="the sandbox image stays for every handler",
        observed=ObservedImages(
            images=(A, KATA), sandbox_image="registry.example/a:1", space=FULL, records=records(A)
        ),
        policy=replace(EVERYTHING, minimum_age=timedelta(0)),
        verdicts={"a": GcReason.SANDBOX_IMAGE, "a/kata": GcReason.SANDBOX_IMAGE},
    ),
    Case(
        name="where the sandbox image is not reported an image called pause stays",
        observed=ObservedImages(images=(PAUSE,), space=FULL, records=records(PAUSE)),
        policy=EVERYTHING,
        verdicts={"p": GcReason.MAY_BE_SANDBOX_IMAGE},
    ),
    Case(
        name="where another sandbox image is reported an image called pause may go",
        observed=ObservedImages(
            images=(PAUSE,),
            sandbox_image="registry.example/a:1",
            space=FULL,
            records=records(PAUSE),
        ),
        policy=EVERYTHING,
        verdicts={"p": GcReason.UNUSED},
    ),
    Case(
        name="an image first detected a minute ago is too young",
        observed=ObservedImages(
            images=(A,), space=FULL, records=records(A, seen=timedelta(minutes=1))
        ),
        policy=EVERYTHING,
        verdicts={"a": GcReason.TOO_YOUNG},
    ),
    Case(
        name="on a fresh start nothing looks old",
        observed=ObservedImages(images=(A, B), space=FULL),
        policy=replace(EVERYTHING, maximum_age=timedelta(seconds=1)),
        verdicts={"a": GcReason.TOO_YOUNG, "b": GcReason.TOO_YOUNG},
    ),
    Case(
        name="what was unused for longer than the maximum age goes although there is space",
        observed=ObservedImages(
            images=(A, B), space=EMPTY, records=records(A, B, b=timedelta(hours=1))
        ),
        policy=GcPolicy(maximum_age=timedelta(days=7)),
        verdicts={"a": GcReason.UNUSED_TOO_LONG, "b": GcReason.SPACE_SUFFICES},
    ),
    Case(
        name="time without an observation does not make an image too old",
        observed=ObservedImages(
            images=(A,),
            space=EMPTY,
            records=replace(records(A), observed_at=NOW - timedelta(days=5)),
        ),
        policy=GcPolicy(maximum_age=timedelta(days=7)),
        verdicts={"a": GcReason.SPACE_SUFFICES},
    ),
    Case(
        name="where the disk cannot be seen only age removes",
        observed=ObservedImages(images=(A, B), records=records(A, B, b=timedelta(hours=1))),
        policy=GcPolicy(maximum_age=timedelta(days=7)),
        verdicts={"a": GcReason.UNUSED_TOO_LONG, "b": GcReason.SPACE_UNKNOWN},
    ),
    Case(
        name="everything unused goes when that is asked for",
        observed=ObservedImages(images=(A, KATA), space=EMPTY, records=records(A, KATA)),
        policy=EVERYTHING,
        verdicts={"a": GcReason.UNUSED, "a/kata": GcReason.UNUSED},
    ),
    Case(
        name="only the images of one handler go when that is asked for",
        observed=ObservedImages(images=(A, KATA), space=EMPTY, records=records(A, KATA)),
        policy=replace(EVERYTHING, only_handler="kata"),
        verdicts={"a/kata": GcReason.UNUSED, "a": GcReason.OTHER_RUNTIME_CLASS},
    ),
    Case(
        name="by digest for one handler only: it goes with the images of that handler",
        observed=ObservedImages(
            images=(A, BY_DIGEST),
            space=EMPTY,
            records=records(A, BY_DIGEST),
            digest_pulls=(FOR_KATA,),
        ),
        policy=replace(EVERYTHING, only_handler="kata"),
        verdicts={"b": GcReason.UNUSED, "a": GcReason.OTHER_RUNTIME_CLASS},
    ),
    Case(
        name="by digest for one handler, and the host's by its tag: it stays",
        observed=ObservedImages(
            images=(replace(BY_DIGEST, repo_tags=("registry.example/b:1",)),),
            space=EMPTY,
            records=records(BY_DIGEST),
            digest_pulls=(FOR_KATA,),
        ),
        policy=replace(EVERYTHING, only_handler="kata"),
        verdicts={"b": GcReason.OTHER_RUNTIME_CLASS},
    ),
    Case(
        name="a layer that a kept image needs frees nothing, so the next image goes too",
        observed=ObservedImages(
            images=(image("a", gigabytes=10), image("b", gigabytes=10), replace(C, pinned=True)),
            space=FULL,
            records=records(A, B, C, a=timedelta(days=2), b=timedelta(days=1)),
            layers={
                key("a"): (layer("shared", gigabytes=9), layer("of a", gigabytes=1)),
                key("b"): (layer("of b", gigabytes=10),),
                key("c"): (layer("shared", gigabytes=9),),
            },
        ),
        verdicts={"a": GcReason.MAKES_ROOM, "b": GcReason.MAKES_ROOM, "c": GcReason.PINNED},
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_plan(case: Case) -> None:
    plan = planning.plan(case.observed, case.policy, NOW)
    names = {image_id(name): name for name in "abcp"}
    found = {
        "/".join(filter(None, (names[verdict.image.id], verdict.image.runtime_handler))): (
            verdict.reason
        )
        for verdict in plan.verdicts
    }
    assert list(found.items()) == list(case.verdicts.items())


def test_bytes_of_shared_layers_are_counted_when_the_last_image_that_needs_them_goes() -> None:
    shared = (layer("shared", gigabytes=4),)
    observed = ObservedImages(
        images=(A, B),
        space=FULL,
        records=records(A, B),
        layers={key("a"): shared, key("b"): shared},
    )
    plan = planning.plan(observed, EVERYTHING, NOW)
    assert [verdict.frees_bytes for verdict in plan.verdicts] == [0, 4 * GIGABYTE]
    assert plan.freed_bytes == 4 * GIGABYTE


def test_an_image_that_is_listed_twice_is_kept_when_either_entry_is_pinned() -> None:
    observed = ObservedImages(images=(A, replace(A, pinned=True)), space=FULL, records=records(A))
    (verdict,) = planning.plan(observed, EVERYTHING, NOW).verdicts
    assert verdict.reason is GcReason.PINNED


def test_the_plan_says_when_the_first_image_is_old_enough() -> None:
    plan = planning.plan(ObservedImages(images=(A,), space=FULL), GcPolicy(), NOW)
    assert plan.first_old_enough_at == NOW + timedelta(minutes=2)


def test_images_are_reconciled_again_after_the_period_of_the_policy() -> None:
    policy = GcPolicy(period=timedelta(seconds=7))
    assert planning.plan(ObservedImages(images=()), policy, NOW).recheck_at == (
        NOW + timedelta(seconds=7)
    )


def test_the_records_are_written_last_because_a_full_disk_takes_nothing_before() -> None:
    plan = planning.plan(ObservedImages(images=(A, B), space=FULL, records=records(A, B)),
                         EVERYTHING, NOW)  # fmt: skip
    kinds = (RemoveImage, RemoveImage, WriteImageRecords)
    assert tuple(map(type, plan.actions)) == kinds
    assert len(plan.lanes()) == 1


def test_what_the_runtime_does_not_report_is_a_field_of_the_plan() -> None:
    unknown = planning.plan(ObservedImages(images=(A,)), GcPolicy(), NOW)
    assert (unknown.space_is_known, unknown.sandbox_image_is_known) == (False, False)
    observed = ObservedImages(images=(A,), space=EMPTY, sandbox_image="registry.example/p:1")
    known = planning.plan(observed, GcPolicy(), NOW)
    assert (known.space_is_known, known.sandbox_image_is_known) == (True, True)


@pytest.mark.parametrize(
    ("available_gigabytes", "missing_gigabytes"), [(16, 0), (15, 5), (10, 10), (0, 20)]
)
def test_freeing_starts_at_the_high_threshold_and_ends_at_the_low_one(
    available_gigabytes: int, missing_gigabytes: int
) -> None:
    space = Space(capacity_bytes=100 * GIGABYTE, available_bytes=available_gigabytes * GIGABYTE)
    assert planning.bytes_to_free(space, GcPolicy()) == missing_gigabytes * GIGABYTE


def test_thresholds_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(Malformed, match="low <= high"):
        GcPolicy(high_threshold_percent=70, low_threshold_percent=80)


def test_containers_of_the_same_name_and_state_are_named_once() -> None:
    observed = ObservedImages(images=(A,), containers=(container("a"), container("a")), space=FULL)
    (verdict,) = planning.plan(observed, EVERYTHING, NOW).verdicts
    assert verdict.message == "run by container a-1 (running)"
