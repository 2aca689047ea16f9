"""What stays is marked for each repository on its own, through manifests of others, too."""

from lading.kernel.values import replace
from lading.pruning.engine.decisions import liveness
from lading.pruning.engine.decisions.liveness import Live
from lading.pruning.engine.decisions.rules import Facts
from lading.pruning.engine.types import (
    Decision,
    Inventory,
    PruneReason,
    References,
    Settings,
    TagVerdicts,
    Verdict,
)
from tests.pruning.builders import NOW, digest, image, registry_world, tag

KEEP = Verdict(Decision.KEEP, PruneReason.RETAINED)
GO = Verdict(Decision.DELETE, PruneReason.NOT_RETAINED)


def found(inventory: Inventory, tags: TagVerdicts) -> dict[str, set[str]]:
    facts = Facts(references=References(), settings=Settings(), instant=NOW)
    dated: dict[str, dict[str, Verdict]] = {name: {} for name in inventory.repositories}
    live: Live = liveness.live(inventory, facts, tags, dated)
    return {
        name: {one for one, is_live in live.flags(repository) if is_live}
        for name, repository in inventory.repositories.items()
    }


def test_a_manifest_stays_only_where_a_kept_tag_needs_it() -> None:
    world = registry_world([image("1")], a=[tag("t", "1")], b=[tag("t", "1")])
    live = found(world, {("a", "t"): KEEP, ("b", "t"): GO})
    assert live == {"a": {digest("1")}, "b": set()}


def test_what_is_between_may_be_in_another_repository() -> None:
    world = registry_world(
        [image("leaf"), image("middle", children="leaf"), image("top", children="middle")],
        a=[tag("top", "top"), tag("leaf", "leaf")],
        b=[tag("middle", "middle")],
    )
    without = tuple(one for one in world.repositories["a"].manifests if one != digest("middle"))
    broken = replace(world.repositories["a"], manifests=without)
    world = replace(world, repositories={**world.repositories, "a": broken})
    live = found(world, {("a", "top"): KEEP, ("a", "leaf"): GO, ("b", "middle"): GO})
    assert live["a"] == {digest("top"), digest("leaf")}
    assert live["b"] == set()


def test_indexes_that_name_each_other_end() -> None:
    one, two = image("1", children="2"), image("2", children="1")
    world = registry_world([one, two], a=[tag("t", "1"), tag("u", "2")])
    live = found(world, {("a", "t"): KEEP, ("a", "u"): GO})
    assert live == {"a": {digest("1"), digest("2")}}


def test_a_tag_that_is_attached_gets_its_verdict_with_its_subject() -> None:
    attached = f"{digest('1').replace(':', '-')}.sig"
    world = registry_world([image("1"), image("s")], a=[tag("t", "1")], b=[tag(attached, "s")])
    for verdict in (KEEP, GO):
        tags: TagVerdicts = {("a", "t"): verdict}
        live = found(world, tags)
        assert tags["b", attached].decision is verdict.decision
        assert bool(live["b"]) is (verdict is KEEP)
