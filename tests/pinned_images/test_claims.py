"""What a node claims, in the status and in the annotation: nothing is lost and nothing invented."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.machine_config_node import (
    MachineConfigNode,
    MachineConfigNodeStatus,
    NodePinnedImageSet,
)
from lading.kernel.values import replace
from lading.pinned_images import claims
from lading.pinned_images.claims import Claim


def entry(name: str, uid: str = "u", current: int = 1, desired: int = 1) -> NodePinnedImageSet:
    return NodePinnedImageSet(
        name=name, uid=uid, current_generation=current, desired_generation=desired
    )


def node(*entries: NodePinnedImageSet, annotation: str | None = None) -> MachineConfigNode:
    annotations = {} if annotation is None else {claims.ANNOTATION: annotation}
    made = msgspec.convert(
        {
            "metadata": {"name": "n", "annotations": annotations},
            "spec": {"node": {"name": "n"}, "pool": {"name": "worker"}},
        },
        MachineConfigNode,
    )
    return replace(made, status=MachineConfigNodeStatus(pinned_image_sets=entries))


def stored(*entries: NodePinnedImageSet, with_uid: bool) -> MachineConfigNode:
    """What the API server has after the node wrote its report."""
    kept = claims.listed(entries, with_uid=with_uid)
    assert len(kept) <= group.SETS_PER_NODE_MAX
    status = MachineConfigNodeStatus(pinned_image_sets=kept)
    return node(*kept, annotation=claims.annotation(entries, status) or None)


ENTRIES = st.dictionaries(
    st.integers(0, 400).map(lambda number: f"s-{number:03}"),
    st.tuples(st.sampled_from(["u", "v"]), st.integers(1, 3)),
    max_size=150,
)


@pytest.mark.parametrize("with_uid", [False, True])
@given(done=ENTRIES)
def test_what_a_node_claims_is_what_the_cluster_reads(
    done: dict[str, tuple[str, int]], with_uid: bool
) -> None:
    entries = tuple(
        entry(name, uid, generation, generation) for name, (uid, generation) in sorted(done.items())
    )
    found = stored(*entries, with_uid=with_uid)
    assert claims.reported(found) == entries
    assert claims.held(found) == {name: Claim(*claim) for name, claim in done.items()}


def test_a_report_that_fits_needs_no_annotation() -> None:
    assert stored(entry("s"), with_uid=True).metadata.annotations == {}


def test_of_too_many_sets_what_is_not_done_is_in_the_status() -> None:
    done = [entry(f"a-{number:03}") for number in range(group.SETS_PER_NODE_MAX)]
    listed = claims.listed([*done, entry("z", current=0)], with_uid=True)
    assert len(listed) == group.SETS_PER_NODE_MAX == 100
    assert listed[-1].name == "z"


@pytest.mark.parametrize(
    ("listed", "annotation", "held"),
    [
        ((), '{"s":["new",1]}', {"s": Claim("new", 1)}),
        ((entry("s", ""),), '{"s":["new",1]}', {"s": Claim("new", 1)}),
        ((entry("s", "", current=0),), '{"s":["old",1]}', {"s": Claim("", 0)}),
        ((entry("s", "", current=2),), '{"s":["old",1]}', {"s": Claim("", 2)}),
        ((entry("s", "new"),), '{"s":["old",1]}', {"s": Claim("new", 1)}),
        ((entry("s", "new"),), "not JSON", {"s": Claim("new", 1)}),
        ((entry("s", "new"),), '{"s":1}', {"s": Claim("new", 1)}),
        ((entry("s", "new"),), "[]", {"s": Claim("new", 1)}),
    ],
    ids=[
        "a set that the status has no room for is claimed in the annotation",
        "a uid that the CRD does not have is in the annotation",
        "an older claim does not make a set done that the status reports as not done",
        "nor does it lend its uid to another generation",
        "what the status holds whole is believed",
        "an annotation that is no JSON claims nothing",
        "nor does one of another shape",
        "nor a list",
    ],
)
def test_status_and_annotation_cannot_be_combined_to_a_claim_that_no_node_made(
    listed: tuple[NodePinnedImageSet, ...], annotation: str, held: dict[str, Claim]
) -> None:
    assert claims.held(node(*listed, annotation=annotation)) == held
