"""For every node and every policy: what is needed is never removed."""

from collections.abc import Iterable
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from lading.kernel.values import replace
from lading.ports.cri import Container, ContainerState, Image, ImageSpec
from lading.ports.node import Space
from lading.runtime_images import cleanup
from lading.runtime_images import images as node_images
from lading.runtime_images import plan as planning
from lading.runtime_images.gc_types import (
    GcDecision,
    GcPlan,
    GcPolicy,
    ObservedImages,
)
from lading.runtime_images.types import (
    DigestPull,
    ImageRecord,
    ImageRecords,
    LocalImageId,
)
from tests.runtime_images.builders import NOW, image_id

NAMES = st.sampled_from("abcde")
HANDLERS = st.sampled_from(("", "kata", "wasm"))
REFERENCES = NAMES.map(lambda name: f"registry.example/{name}:1")
AGES = st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=30))
INSTANTS = AGES.map(lambda age: NOW - age)

IMAGES = st.builds(
    Image,
    id=NAMES.map(image_id),
    size_bytes=st.integers(1, 10**11),
    repo_tags=st.lists(REFERENCES, max_size=2).map(tuple),
    pinned=st.booleans(),
    runtime_handler=HANDLERS,
)
SPECS = st.builds(
    ImageSpec,
    image=st.one_of(NAMES.map(image_id), REFERENCES, st.just("")),
    runtime_handler=HANDLERS,
)
CONTAINERS = st.builds(
    Container,
    id=NAMES,
    name=NAMES,
    state=st.sampled_from(ContainerState),
    image=SPECS,
    image_id=st.one_of(NAMES.map(image_id), st.just("")),
    image_volumes=st.lists(SPECS, max_size=2).map(tuple),
)
MEMORIES = st.builds(
    ImageRecords,
    observed_since=INSTANTS,
    observed_at=INSTANTS,
    by_image=st.dictionaries(
        st.builds(LocalImageId, image_id=NAMES.map(image_id), runtime_handler=HANDLERS),
        st.builds(ImageRecord, first_detected=INSTANTS, last_used=st.one_of(st.none(), INSTANTS)),
    ),
)
SPACES = st.integers(0, 100).map(
    lambda percent: Space(capacity_bytes=10**12, available_bytes=percent * 10**10)
)
OBSERVED = st.builds(
    ObservedImages,
    images=st.lists(IMAGES, max_size=8).map(tuple),
    containers=st.lists(CONTAINERS, max_size=3).map(tuple),
    sandbox_image=st.one_of(st.just(""), REFERENCES),
    space=st.one_of(st.none(), SPACES),
    records=st.one_of(st.none(), MEMORIES),
)
POLICIES = st.builds(
    GcPolicy,
    minimum_age=AGES,
    maximum_age=st.one_of(st.none(), AGES),
    everything_unused=st.booleans(),
    only_handler=st.one_of(st.none(), HANDLERS),
)
RESOLUTIONS = st.builds(
    DigestPull, reference=REFERENCES, runtime_handler=HANDLERS, platform=st.just(""),
    pulled=REFERENCES,
)  # fmt: skip


@given(OBSERVED, POLICIES)
def test_collection_never_removes_what_is_needed(
    observed: ObservedImages, policy: GcPolicy
) -> None:
    check(observed, planning.plan(observed, policy, NOW))


@given(OBSERVED, st.lists(RESOLUTIONS, max_size=3))
def test_the_clean_up_never_removes_what_is_needed(
    observed: ObservedImages, resolutions: list[DigestPull]
) -> None:
    observed = replace(observed, digest_pulls=tuple(resolutions))
    plan = cleanup.plan(observed, NOW)
    check(observed, plan)
    pulled = {resolution.pulled for resolution in resolutions}
    for verdict in (one for one in plan.verdicts if one.decision is GcDecision.REMOVE):
        hosts_names = set() if verdict.image.runtime_handler else set(verdict.image.repo_tags)
        assert hosts_names <= pulled


@given(OBSERVED, POLICIES)
def test_every_image_gets_exactly_one_verdict(observed: ObservedImages, policy: GcPolicy) -> None:
    verdicts = planning.plan(observed, policy, NOW).verdicts
    keys = [verdict.local_id for verdict in verdicts]
    listed = {(image.id, image.runtime_handler) for image in observed.images}
    assert len(keys) == len(set(keys))
    assert {(key.image_id, key.runtime_handler) for key in keys} == listed


@given(OBSERVED, POLICIES)
def test_collection_stops_once_enough_is_freed(observed: ObservedImages, policy: GcPolicy) -> None:
    plan = planning.plan(observed, policy, NOW)
    makes_room = [verdict for verdict in plan.verdicts if verdict.reason == "MakesRoom"]
    if makes_room:
        assert plan.freed_bytes - makes_room[-1].frees_bytes < plan.wanted_bytes


def check(observed: ObservedImages, plan: GcPlan) -> None:
    """Judged anew from what was observed, without the code that made the plan."""
    for verdict in plan.verdicts:
        if verdict.decision is GcDecision.KEEP:
            continue
        same = [image for image in observed.images if pair(image) == pair(verdict.image)]
        every_name = {name for image in same for name in (image.id, *image.repo_tags)}
        assert not any(image.pinned for image in same)
        assert observed.sandbox_image not in every_name
        for needed in needs(observed.containers):
            takers = [image for image in observed.images if has_name(image, needed.image)]
            takes_this = verdict.image.id == needed.image or needed.image in every_name
            another_has_the_pair = (
                any(image.runtime_handler == needed.runtime_handler for image in takers)
                and verdict.image.runtime_handler != needed.runtime_handler
            )
            assert not takes_this or another_has_the_pair


def pair(image: Image) -> tuple[str, str]:
    return image.id, image.runtime_handler


def has_name(image: Image, name: str) -> bool:
    return name in (image.id, *image.repo_tags)


def needs(containers: Iterable[Container]) -> Iterable[ImageSpec]:
    for container in containers:
        running = container.image_id or container.image.image
        yield ImageSpec(image=running, runtime_handler=container.image.runtime_handler)
        yield from container.image_volumes


@given(st.lists(IMAGES, min_size=1), REFERENCES)
def test_an_image_goes_by_each_of_its_names_and_by_its_bare_id(
    images: list[Image], reference: str
) -> None:
    for image in images:
        assert node_images.has_name(image, image.id.removeprefix("sha256:"))
        assert node_images.has_name(image, reference) == (reference in image.repo_tags)
