"""Lines may be removed from a plan, not added; what stays loses nothing by that."""

from collections.abc import Callable

import pytest

from lading.kernel.values import replace
from lading.pruning.engine.decisions import edited_plan
from lading.pruning.engine.types import Deletion, Inventory, PrunePlan, What
from tests.pruning import builders
from tests.pruning.builders import digest, gone, image, registry_world, streams_world, tag
from tests.pruning.registry_worlds import CHAIN, GO, SIGNED, sha_tag, versions

Chosen = Callable[[Deletion], bool]


def left_of(inventory: Inventory, chosen: Chosen) -> set[str]:
    """What goes after all other lines were removed from the plan."""
    plan = builders.plan(inventory, policy=GO)
    lines = edited_plan.common(filter(chosen, plan.deletions), plan)
    return gone(replace(plan, deletions=edited_plan.consistent(lines, plan, inventory)))


def test_lines_may_be_removed_but_not_added() -> None:
    fresh = builders.plan(versions("v1", "v2"), policy=GO)
    foreign = builders.plan(versions("v1", "v3"), policy=GO)
    both = edited_plan.common(foreign.deletions, fresh)
    assert gone(replace(fresh, deletions=both)) == {"tag team/app:v1 v1", "manifest team/app v1"}
    assert edited_plan.common(fresh.deletions[:1], fresh) == fresh.deletions[:1]


@pytest.mark.parametrize("inventory", [versions("v1", "v2"), SIGNED, CHAIN])
def test_a_file_that_is_sorted_or_has_lines_twice_is_the_same_plan(inventory: Inventory) -> None:
    plan = builders.plan(inventory, policy=GO)
    edited = (*reversed(plan.deletions), *plan.deletions)
    common = edited_plan.common(edited, plan)
    assert common == plan.deletions
    assert edited_plan.consistent(common, plan, inventory) is common


TWO_TAGS = registry_world([image("one")], app=[tag("a", "one"), tag("b", "one")])
PARTS = registry_world(
    [image("index", children="part"), image("part")],
    app=[tag("index", "index"), tag("part", "part")],
)
ELSEWHERE = registry_world(
    [image("app"), image("sig"), image("sig of sig")],
    app=[tag("v1", "app")],
    signatures=[tag(sha_tag("app", ".sig"), "sig")],
    more=[tag(sha_tag("sig", ".sig"), "sig of sig")],
)
ATTACHED = registry_world(
    [image("app"), image("sig", subject="app"), image("of sig", subject="sig")],
    app=[tag("v1", "app"), tag("other", "sig")],
)


def not_of(name: str) -> Chosen:
    return lambda line: line.digest != digest(name)


def without_tag(name: str) -> Chosen:
    return lambda line: line.tag != name


def without_manifest(name: str) -> Chosen:
    return lambda line: line.what is What.TAG or line.digest != digest(name)


NOTHING: set[str] = set()


@pytest.mark.parametrize(
    ("inventory", "chosen", "goes"),
    [
        pytest.param(SIGNED, not_of("v1"), NOTHING, id="an image keeps its signatures by tag"),
        pytest.param(ELSEWHERE, not_of("app"), NOTHING, id="also those in other repositories"),
        pytest.param(ATTACHED, not_of("app"), NOTHING, id="an image keeps what is attached to it"),
        pytest.param(
            SIGNED,
            not_of("sig"),
            {
                "tag team/app:v1 v1",
                "manifest team/app v1",
                f"tag team/app:{sha_tag('v1', '.att')} att",
                "manifest team/app att",
                f"tag signatures:{sha_tag('v1', '.sbom')} sbom",
                "manifest signatures sbom",
            },
            id="a signature without its subject keeps its own signature",
        ),
        pytest.param(TWO_TAGS, without_tag("a"), {"tag app:b one"}, id="one tag of two goes"),
        pytest.param(TWO_TAGS, without_manifest("one"), NOTHING, id="no tag leaves its manifest"),
        pytest.param(
            PARTS,
            without_tag("index"),
            {"tag app:part part"},
            id="a tag goes alone where an index leads to its manifest",
        ),
        pytest.param(
            PARTS,
            without_manifest("part"),
            {"tag app:index index", "manifest app index"},
            id="a part that stays keeps its tag, not its index",
        ),
        pytest.param(
            CHAIN, not_of("arm"), {"tag team/app:v1 outer", "manifest team/app outer",
                                   "manifest team/app inner"},
            id="a signature stays with its subject when the index goes",
        ),
    ],
)  # fmt: skip
def test_what_stays_loses_nothing(inventory: Inventory, chosen: Chosen, goes: set[str]) -> None:
    assert left_of(inventory, chosen) == goes


def test_an_empty_file_deletes_nothing() -> None:
    plan: PrunePlan = builders.plan(SIGNED, policy=GO)
    assert edited_plan.common((), plan) == ()
    assert edited_plan.consistent((), plan, SIGNED) == ()


STREAMS = streams_world([], [image("one", "shared own"), image("two", "shared")])


@pytest.mark.parametrize(
    ("removed", "goes"),
    [
        pytest.param(
            "one",
            {"blob two", "image two"},
            id="an Image that stays keeps its blobs, those included that others share",
        ),
        pytest.param("nothing", {"blob one", "blob two", "blob shared", "blob own",
                                 "image one", "image two"}, id="the whole plan"),
    ],
)  # fmt: skip
def test_an_image_object_that_stays_loses_no_blob(removed: str, goes: set[str]) -> None:
    kept = digest(removed)
    assert left_of(STREAMS, lambda line: (line.what, line.digest) != (What.IMAGE, kept)) == goes
