"""`why` names every chain or the rule; guards refuse plans that look wrong."""

import pytest

from lading.pruning.engine.decisions import guards, why
from lading.pruning.engine.decisions.guards import Guard, Limits
from lading.pruning.engine.types import Decision, References
from tests.pruning import builders
from tests.pruning.builders import (
    REGISTRY,
    YOUNG,
    digest,
    image,
    pod,
    registry_world,
    streams_world,
    tag,
)
from tests.pruning.registry_worlds import APP, CHAIN, GO, keep, versions


def asked(text: str, *objects: dict[str, object]) -> why.Answer:
    references = builders.used(objects)
    return why.why(text, CHAIN, references, builders.plan(CHAIN, *objects, policy=GO))


def test_a_blob_is_kept_by_the_chain_up_to_the_pod() -> None:
    answer = asked(digest("l"), pod(f"{APP}:v1", name="web"))
    (chain,) = answer.chains
    assert chain == (
        digest("l"),
        f"manifest {digest('arm')}",
        f"index {digest('inner')}",
        f"index {digest('outer')}",
        "tag team/app:v1",
        "tag is used by Pod foo/web",
    )


def test_a_signature_is_kept_by_its_subject() -> None:
    answer = asked(digest("s"), pod(f"{APP}@{digest('arm')}"))
    assert any(f"subject {digest('arm')}" in chain for chain in answer.chains)


def test_every_chain_is_named() -> None:
    world = registry_world(
        [image("a", "shared"), image("b", "shared")], r=[tag("1", "a"), tag("2", "b")]
    )
    found = builders.plan(world, policy=keep(patterns=[".*"]))
    answer = why.why(digest("shared"), world, References(), found)
    assert len(answer.chains) == 2


@pytest.mark.parametrize("text", ["team/app:v1", f"{REGISTRY}/team/app:v1"])
def test_a_tag_that_goes_has_the_rule(text: str) -> None:
    answer = asked(text)
    ((place, verdict),) = answer.verdicts
    assert (place, verdict.decision, answer.chains) == ("team/app:v1", Decision.DELETE, ())
    assert verdict.message == "no entry of keepTags matches it"


def test_a_manifest_that_goes_has_its_verdict() -> None:
    answer = asked(f"team/app@{digest('arm')}")
    assert [verdict.decision for _, verdict in answer.verdicts] == [Decision.DELETE]
    assert answer.chains == ()


def test_what_is_not_there_is_not_known() -> None:
    assert not asked("team/none:v1").is_known
    assert not asked(digest("none")).is_known


MANY = versions(*(f"v{number}" for number in range(20)))


def refused(limits: Limits, *objects: dict[str, object], last: int | None = None) -> set[Guard]:
    found = builders.plan(MANY, *objects, policy=GO)
    references = builders.used(objects)
    return {
        one.guard
        for one in guards.check(found, MANY, references, limits, references_last_time=last)
    }


USE = pod(f"{APP}:v1")


@pytest.mark.parametrize(
    ("limits", "objects", "last", "expected"),
    [
        (Limits(), (USE,), None, {Guard.SHARE}),
        (Limits(share_percent_max=100), (USE,), None, set()),
        (Limits(share_percent_max=100), (), None, {Guard.NO_REFERENCES}),
        (Limits(share_percent_max=100), (USE,), 3, {Guard.FEWER_REFERENCES}),
        (Limits(share_percent_max=100), (USE,), 2, set()),
        (Limits(ignored=frozenset(Guard)), (), 100, set()),
    ],
)
def test_guards(
    limits: Limits, objects: tuple[dict[str, object], ...], last: int | None, expected: set[Guard]
) -> None:
    assert refused(limits, *objects, last=last) == expected


def test_a_plan_that_deletes_nothing_is_never_refused() -> None:
    found = builders.plan(MANY)
    assert found.deletions == ()
    assert guards.check(found, MANY, References(), Limits(), references_last_time=100) == ()


def test_the_guard_of_shares_counts_images_of_streams() -> None:
    world = streams_world([], [image(f"i{number}") for number in range(20)])
    found = builders.plan(world)
    references = builders.used([USE])
    (refusal,) = guards.check(found, world, references, Limits())
    assert refusal.guard is Guard.SHARE
    assert "20 of 20 manifests" in refusal.message


def test_the_guard_of_bytes() -> None:
    world = registry_world([image("a", "l1 l2")], r=[tag("1", "a")])
    found = builders.plan(world, pod(f"{REGISTRY}/x:1"), policy=GO)
    references = builders.used([pod(f"{REGISTRY}/x:1")])
    assert guards.check(found, world, references, Limits(size_bytes_max=200)) == ()
    (refusal,) = guards.check(found, world, references, Limits(size_bytes_max=199))
    assert refusal.guard is Guard.BYTES


def test_without_a_reference_the_hosts_that_the_clusters_use_are_named() -> None:
    found = builders.plan(MANY, policy=GO)
    references = builders.used([pod("one.test/x:1"), pod("two.test/x:1"), pod("two.test/y:1")])
    refusals = guards.check(found, MANY, references, Limits(share_percent_max=100))
    assert "They use two.test, one.test" in refusals[0].message
    assert "--ignore-guard=no-references" in str(guards.GuardRefused(refusals))


def test_a_young_image_that_no_stream_names_is_kept_by_its_age() -> None:
    world = streams_world([], [image("young", "l", minutes=YOUNG)])
    found = builders.plan(world)
    for name in ("young", "l"):
        answer = why.why(digest(name), world, References(), found)
        (chain,) = answer.chains
        assert chain[-1].startswith("Young: pushed 10m")
