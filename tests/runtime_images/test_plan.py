"""Garbage collection as a table: what is on the node, and what happens to each image and why."""

from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from lading.kernel.errors import Malformed
from lading.ports.cri import ContainerState, ImageSpec
from lading.ports.disk import Space
from lading.runtime_images import plan as planning
from lading.runtime_images.types import Observed, Policy, Reason, Resolution
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
    memory,
)

A, B, C = image("a"), image("b"), image("c")
KATA = image("a", handler="kata")
PAUSE = image("p", tag="registry.example/pause:3.9")
DIGEST = f"registry.example/b@{image_id('b')}"
BY_DIGEST = replace(B, repo_tags=(), repo_digests=(DIGEST,))
FOR_KATA = Resolution(reference="b", runtime_handler="kata", platform="", pulled=DIGEST)
EVERYTHING = Policy(everything_unused=True)


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    observed: Observed
    policy: Policy = field(default_factory=Policy)
    verdicts: dict[str, Reason]
    """By name of the image, with its handler after a slash, in the order of the plan."""


CASES = (
    Case(
        name="below the high threshold nothing is removed",
        observed=Observed(images=(A,), space=EMPTY, memory=memory(A)),
        verdicts={"a": Reason.SPACE_SUFFICES},
    ),
    Case(
        name="over the high threshold the least recently used go until the low one is reached",
        observed=Observed(
            images=tuple(image(name, gigabytes=6) for name in "abc"),
            space=FULL,
            memory=memory(A, B, C, a=timedelta(hours=1), b=timedelta(hours=3), c=timedelta(days=1)),
        ),
        verdicts={"c": Reason.MAKES_ROOM, "b": Reason.MAKES_ROOM, "a": Reason.SPACE_SUFFICES},
    ),
    Case(
        name="what was never used goes before what was",
        observed=Observed(
            images=(image("a", gigabytes=10), B),
            space=FULL,
            memory=memory(A, B, b=timedelta(days=9)),
        ),
        verdicts={"a": Reason.MAKES_ROOM, "b": Reason.SPACE_SUFFICES},
    ),
    Case(
        name="a pinned image stays however full the disk is",
        observed=Observed(images=(replace(A, pinned=True),), space=FULL, memory=memory(A)),
        policy=EVERYTHING,
        verdicts={"a": Reason.PINNED},
    ),
    Case(
        name="the image of a running container stays",
        observed=Observed(
            images=(A, B), containers=(container("a"),), space=FULL, memory=memory(A, B)
        ),
        verdicts={"b": Reason.MAKES_ROOM, "a": Reason.IN_USE},
    ),
    Case(
        name="the image of an exited container stays, as the kubelet has it",
        observed=Observed(
            images=(A,),
            containers=(container("a", state=ContainerState.EXITED),),
            space=FULL,
            memory=memory(A),
        ),
        verdicts={"a": Reason.IN_USE},
    ),
    Case(
        name="an image that a container mounts stays",
        observed=Observed(
            images=(A, B),
            containers=(container("a", mounts="b"),),
            space=FULL,
            memory=memory(A, B),
        ),
        verdicts={"a": Reason.IN_USE, "b": Reason.IN_USE},
    ),
    Case(
        name="use for one handler does not keep the same image of another",
        observed=Observed(
            images=(A, KATA),
            containers=(container("a", handler="kata"),),
            space=FULL,
            memory=memory(A, KATA),
        ),
        verdicts={"a": Reason.MAKES_ROOM, "a/kata": Reason.IN_USE},
    ),
    Case(
        name="an image volume is matched with its handler too",
        observed=Observed(
            images=(B, image("b", handler="kata"), KATA),
            containers=(container("a", handler="kata", mounts="b"),),
            space=FULL,
            memory=memory(B, image("b", handler="kata"), KATA),
        ),
        verdicts={"b": Reason.MAKES_ROOM, "a/kata": Reason.IN_USE, "b/kata": Reason.IN_USE},
    ),
    Case(
        name="a container whose pair is not listed keeps its image for every handler",
        observed=Observed(
            images=(KATA,), containers=(container("a"),), space=FULL, memory=memory(KATA)
        ),
        verdicts={"a/kata": Reason.IN_USE},
    ),
    Case(
        name="a container that does not say its image keeps every image",
        observed=Observed(
            images=(A,),
            containers=(replace(container("x"), image_id="", image=ImageSpec(image="")),),
            space=FULL,
            memory=memory(A),
        ),
        verdicts={"a": Reason.USE_UNKNOWN},
    ),
    Case(
        name="a container that only has a name for its image keeps the image of that name",
        observed=Observed(
            images=(image("a", tag="docker.io/library/busybox:latest"), B),
            containers=(replace(container("a"), image_id="", image=ImageSpec(image="busybox")),),
            space=FULL,
            memory=memory(A, B),
        ),
        verdicts={"b": Reason.MAKES_ROOM, "a": Reason.IN_USE},
    ),
    Case(
        name="a container whose ID means nothing keeps the image of the name it has",
        observed=Observed(
            images=(A, B),
            containers=(replace(container("a"), image_id="sha256:moved"),),
            space=FULL,
            memory=memory(A, B),
        ),
        verdicts={"b": Reason.MAKES_ROOM, "a": Reason.IN_USE},
    ),
    Case(
        name="a container whose image was removed under it keeps nothing else",
        observed=Observed(images=(B,), containers=(container("a"),), space=FULL, memory=memory(B)),
        verdicts={"b": Reason.MAKES_ROOM},
    ),
    Case(
        name="the sandbox image stays for every handler",
        observed=Observed(
            images=(A, KATA), sandbox_image="registry.example/a:1", space=FULL, memory=memory(A)
        ),
        policy=replace(EVERYTHING, minimum_age=timedelta(0)),
        verdicts={"a": Reason.SANDBOX_IMAGE, "a/kata": Reason.SANDBOX_IMAGE},
    ),
    Case(
        name="where the sandbox image is not told an image called pause stays",
        observed=Observed(images=(PAUSE,), space=FULL, memory=memory(PAUSE)),
        policy=EVERYTHING,
        verdicts={"p": Reason.MAY_BE_SANDBOX_IMAGE},
    ),
    Case(
        name="where another sandbox image is told an image called pause may go",
        observed=Observed(
            images=(PAUSE,), sandbox_image="registry.example/a:1", space=FULL, memory=memory(PAUSE)
        ),
        policy=EVERYTHING,
        verdicts={"p": Reason.UNUSED},
    ),
    Case(
        name="an image seen a minute ago is too young",
        observed=Observed(images=(A,), space=FULL, memory=memory(A, seen=timedelta(minutes=1))),
        policy=EVERYTHING,
        verdicts={"a": Reason.TOO_YOUNG},
    ),
    Case(
        name="on a fresh start nothing looks old",
        observed=Observed(images=(A, B), space=FULL),
        policy=replace(EVERYTHING, maximum_age=timedelta(seconds=1)),
        verdicts={"a": Reason.TOO_YOUNG, "b": Reason.TOO_YOUNG},
    ),
    Case(
        name="what nobody used for longer than the maximum age goes although there is space",
        observed=Observed(images=(A, B), space=EMPTY, memory=memory(A, B, b=timedelta(hours=1))),
        policy=Policy(maximum_age=timedelta(days=7)),
        verdicts={"a": Reason.UNUSED_TOO_LONG, "b": Reason.SPACE_SUFFICES},
    ),
    Case(
        name="time in which nobody watched does not make an image too old",
        observed=Observed(
            images=(A,),
            space=EMPTY,
            memory=replace(memory(A), looked_at=NOW - timedelta(days=5)),
        ),
        policy=Policy(maximum_age=timedelta(days=7)),
        verdicts={"a": Reason.SPACE_SUFFICES},
    ),
    Case(
        name="without a look at the disk only age removes",
        observed=Observed(images=(A, B), memory=memory(A, B, b=timedelta(hours=1))),
        policy=Policy(maximum_age=timedelta(days=7)),
        verdicts={"a": Reason.UNUSED_TOO_LONG, "b": Reason.SPACE_UNKNOWN},
    ),
    Case(
        name="everything unused goes when that is asked for",
        observed=Observed(images=(A, KATA), space=EMPTY, memory=memory(A, KATA)),
        policy=EVERYTHING,
        verdicts={"a": Reason.UNUSED, "a/kata": Reason.UNUSED},
    ),
    Case(
        name="only the images of one handler go when that is asked for",
        observed=Observed(images=(A, KATA), space=EMPTY, memory=memory(A, KATA)),
        policy=replace(EVERYTHING, only_handler="kata"),
        verdicts={"a/kata": Reason.UNUSED, "a": Reason.OTHER_RUNTIME_CLASS},
    ),
    Case(
        name="by digest for one handler only: it goes with the images of that handler",
        observed=Observed(
            images=(A, BY_DIGEST),
            space=EMPTY,
            memory=memory(A, BY_DIGEST),
            resolutions=(FOR_KATA,),
        ),
        policy=replace(EVERYTHING, only_handler="kata"),
        verdicts={"b": Reason.UNUSED, "a": Reason.OTHER_RUNTIME_CLASS},
    ),
    Case(
        name="by digest for one handler, and the host's by its tag: it stays",
        observed=Observed(
            images=(replace(BY_DIGEST, repo_tags=("registry.example/b:1",)),),
            space=EMPTY,
            memory=memory(BY_DIGEST),
            resolutions=(FOR_KATA,),
        ),
        policy=replace(EVERYTHING, only_handler="kata"),
        verdicts={"b": Reason.OTHER_RUNTIME_CLASS},
    ),
    Case(
        name="a layer that a kept image needs frees nothing, so the next image goes too",
        observed=Observed(
            images=(image("a", gigabytes=10), image("b", gigabytes=10), replace(C, pinned=True)),
            space=FULL,
            memory=memory(A, B, C, a=timedelta(days=2), b=timedelta(days=1)),
            layers={
                key("a"): (layer("shared", gigabytes=9), layer("of a", gigabytes=1)),
                key("b"): (layer("of b", gigabytes=10),),
                key("c"): (layer("shared", gigabytes=9),),
            },
        ),
        verdicts={"a": Reason.MAKES_ROOM, "b": Reason.MAKES_ROOM, "c": Reason.PINNED},
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
    observed = Observed(
        images=(A, B), space=FULL, memory=memory(A, B), layers={key("a"): shared, key("b"): shared}
    )
    plan = planning.plan(observed, EVERYTHING, NOW)
    assert [verdict.frees_bytes for verdict in plan.verdicts] == [0, 4 * GIGABYTE]
    assert plan.freed_bytes == 4 * GIGABYTE


def test_an_image_that_is_listed_twice_is_kept_when_either_entry_is_pinned() -> None:
    observed = Observed(images=(A, replace(A, pinned=True)), space=FULL, memory=memory(A))
    (verdict,) = planning.plan(observed, EVERYTHING, NOW).verdicts
    assert verdict.reason is Reason.PINNED


def test_the_plan_says_when_the_youngest_can_be_judged() -> None:
    plan = planning.plan(Observed(images=(A,), space=FULL), Policy(), NOW)
    assert plan.recheck_at == NOW + timedelta(minutes=2)


def test_what_cannot_be_known_is_said() -> None:
    notes = planning.plan(Observed(images=(A,)), Policy(), NOW).notes
    assert len(notes) == 2
    assert "filesystem" in notes[0]
    assert "sandboxes" in notes[1]


@pytest.mark.parametrize(
    ("available_gigabytes", "missing_gigabytes"), [(16, 0), (15, 5), (10, 10), (0, 20)]
)
def test_freeing_starts_at_the_high_threshold_and_ends_at_the_low_one(
    available_gigabytes: int, missing_gigabytes: int
) -> None:
    space = Space(capacity_bytes=100 * GIGABYTE, available_bytes=available_gigabytes * GIGABYTE)
    assert planning.bytes_to_free(space, Policy()) == missing_gigabytes * GIGABYTE


def test_thresholds_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(Malformed, match="low <= high"):
        Policy(high_threshold_percent=70, low_threshold_percent=80)
