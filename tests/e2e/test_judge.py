"""The judge of the soak notices every kind of false claim, lost pin and lost unpin, and no other.

Each fault is what a look at a cluster would show if the agent, the controller or the runtime were
wrong in one way.
"""

from collections.abc import Set
from dataclasses import dataclass, field

import msgspec
import pytest

from lading.api.machineconfiguration.machine_config_node import MachineConfigNode
from lading.api.machineconfiguration.pinned_image_set import PinnedImageSet
from lading.pinned_images.reasons import ConditionType
from tests.e2e import judge
from tests.e2e.judge import Claimed, Judge, Version

BLUE_1 = Version("blue", "first", 1)
BLUE_2 = Version("blue", "first", 2)
BLUE_3 = Version("blue", "first", 3)
BLUE_AGAIN = Version("blue", "second", 1)
GREEN = Version("green", "other", 1)
IMAGES = {
    BLUE_1: frozenset({"a", "b"}),
    BLUE_2: frozenset({"b", "c"}),
    BLUE_3: frozenset({"e"}),
    BLUE_AGAIN: frozenset({"d"}),
    GREEN: frozenset({"g"}),
}
ALL = frozenset({"a", "b", "c", "d"})


def image_set(version: Version, *, ready: bool | Version = False) -> PinnedImageSet:
    """`ready` may be the version that was Ready; the condition is then an old one."""
    observed = ready.generation if isinstance(ready, Version) else version.generation
    condition = {
        "type": ConditionType.READY,
        "status": str(bool(ready)),
        "reason": "AsExpected",
        "observedGeneration": observed,
    }
    body = {
        "metadata": version._asdict(),
        "spec": {"pinnedImages": [{"name": one} for one in sorted(IMAGES[version])]},
        "status": {"conditions": [condition]},
    }
    return msgspec.convert(body, PinnedImageSet)


def node(*held: Version) -> MachineConfigNode:
    entries = [
        {"name": one.name, "uid": one.uid, "currentGeneration": one.generation} for one in held
    ]
    body = {
        "metadata": {"name": "node-1"},
        "spec": {"node": {"name": "node-1"}, "pool": {"name": "worker"}},
        "status": {"pinnedImageSets": entries},
    }
    return msgspec.convert(body, MachineConfigNode)


@dataclass(slots=True)
class Story:
    """A cluster with at most one set, and what its judge sees of it."""

    judge: Judge = field(default_factory=Judge)
    sets: tuple[PinnedImageSet, ...] = ()

    def write(self, version: Version, *, ready: bool | Version = False) -> None:
        with self.judge.change(version.name):
            self.sets = (image_set(version, ready=ready),)
            self.judge.saw(self.sets[0])

    def becomes_ready(self, version: Version) -> None:
        self.sets = (image_set(version, ready=True),)

    def delete(self) -> None:
        with self.judge.change("blue"):
            self.sets = ()

    def look(self, *held: Version, pinned: Set[str], answers: bool = True) -> None:
        """Claims that do not change during the look; `answers` is whether the API server does."""
        beginning = self.judge.begin()
        claimed = self.claimed(*held) if answers else None
        self.judge.judge(beginning, before=claimed, pinned=pinned, after=claimed)

    def claimed(self, *held: Version) -> Claimed:
        return self.judge.claimed(self.sets, node(*held))


def story_of(version: Version) -> Story:
    story = Story()
    story.write(version)
    return story


def held_story() -> Story:
    """Generation 1 was seen to be pinned and claimed."""
    story = story_of(BLUE_1)
    story.look(BLUE_1, pinned={"a", "b"})
    return story


def test_a_true_claim_is_checked_and_passes() -> None:
    story = story_of(BLUE_1)
    story.becomes_ready(BLUE_1)
    story.look(BLUE_1, pinned={"a", "b", "more"})
    assert story.judge.checked == 2


def test_a_set_that_claims_nothing_may_be_unpinned() -> None:
    story = story_of(BLUE_1)
    story.look(pinned=set())
    assert story.judge.checked == 0


def test_a_false_ready_is_noticed() -> None:
    story = story_of(BLUE_1)
    story.becomes_ready(BLUE_1)
    with pytest.raises(AssertionError, match=r"is Ready, and is not pinned: \['b'\]"):
        story.look(pinned={"a"})


def test_a_ready_of_an_earlier_generation_claims_nothing() -> None:
    story = Story()
    story.write(BLUE_2, ready=BLUE_1)
    story.look(pinned=set())
    assert story.judge.checked == 0


def test_a_false_claim_of_a_node_is_noticed() -> None:
    story = story_of(BLUE_1)
    with pytest.raises(AssertionError, match=r"held by its node, and is not pinned: \['b'\]"):
        story.look(BLUE_1, pinned={"a"})


def test_a_newest_generation_that_is_claimed_for_the_last_one_is_noticed() -> None:
    story = held_story()
    story.write(BLUE_2)
    with pytest.raises(AssertionError, match=r"held by its node, and is not pinned: \['c'\]"):
        story.look(BLUE_2, pinned={"a", "b"})


def test_a_pin_that_is_lost_is_noticed_although_the_claim_is_withdrawn_with_it() -> None:
    story = held_story()
    with pytest.raises(AssertionError, match=r"no one changed it since, and is not pinned: \['a'"):
        story.look(pinned={"b"})


def test_a_pin_that_is_lost_while_the_api_server_is_away_is_noticed() -> None:
    story = held_story()
    with pytest.raises(AssertionError, match="no one changed it since"):
        story.look(pinned={"b"}, answers=False)


def test_a_true_claim_that_is_withdrawn_is_noticed() -> None:
    story = held_story()
    with pytest.raises(AssertionError, match="a true claim is withdrawn"):
        story.look(pinned={"a", "b"})


def test_pins_of_an_incomplete_generation_that_are_lost_are_noticed() -> None:
    story = held_story()
    story.write(BLUE_2)
    story.look(BLUE_1, pinned={"a", "b"})
    story.look(BLUE_1, pinned={"b", "c"})  # the newer one is pinned, and not yet reported
    with pytest.raises(AssertionError, match="neither it nor a later one is pinned"):
        story.look(BLUE_1, pinned={"b"})


@pytest.mark.parametrize(
    "pinned",
    [
        pytest.param({"a", "b"}, id="an earlier one is pinned"),
        pytest.param({"g"}, id="another set is pinned"),
    ],
)
def test_only_a_later_version_of_the_set_takes_the_place_of_a_claimed_one(
    pinned: set[str],
) -> None:
    story = held_story()
    story.write(BLUE_2)
    story.write(BLUE_3)
    story.judge.saw(image_set(GREEN))
    with pytest.raises(AssertionError, match="neither it nor a later one is pinned"):
        story.look(BLUE_2, pinned=pinned)


def test_pins_of_a_deleted_set_that_go_before_their_claim_are_noticed() -> None:
    story = held_story()
    story.delete()
    story.look(BLUE_1, pinned={"a", "b"})
    with pytest.raises(AssertionError, match=r"held by its node, and is not pinned: \['a'"):
        story.look(BLUE_1, pinned={"b"})


def test_a_deleted_set_may_be_unpinned_when_it_is_not_claimed() -> None:
    story = held_story()
    story.delete()
    story.look(pinned=set())


def test_a_deleted_set_may_hold_a_later_generation_than_the_claimed_one() -> None:
    story = held_story()
    story.write(BLUE_2)
    story.delete()
    story.look(BLUE_1, pinned={"b", "c"})


def test_a_claim_of_another_uid_is_noticed() -> None:
    story = story_of(BLUE_1)
    with pytest.raises(AssertionError, match="never was"):
        story.look(Version("blue", "of another cluster", 1), pinned={"a", "b"})


def test_a_claim_of_a_generation_to_come_is_noticed() -> None:
    story = story_of(BLUE_1)
    with pytest.raises(AssertionError, match="never was"):
        story.look(BLUE_2, pinned={"a", "b"})


def test_a_namesake_that_inherits_a_claim_is_noticed() -> None:
    story = held_story()
    story.delete()
    story.write(BLUE_AGAIN)
    story.look(BLUE_1, pinned={"a", "b"})  # the agent has not seen it yet
    story.look(BLUE_1, pinned={"d"})  # it has, and has not reported it yet
    with pytest.raises(AssertionError, match=r"held by its node, and is not pinned: \['d'\]"):
        story.look(BLUE_AGAIN, pinned={"a", "b"})


def test_a_claim_that_comes_or_goes_during_a_look_is_not_judged() -> None:
    story = story_of(BLUE_1)
    nothing = story.claimed()
    story.becomes_ready(BLUE_1)
    everything = story.claimed(BLUE_1)
    for before, after in ((nothing, everything), (everything, nothing)):
        story.judge.judge(story.judge.begin(), before=before, pinned=set(), after=after)
    assert story.judge.checked == 0


def test_what_is_seen_during_a_change_is_not_expected_to_stay() -> None:
    story = story_of(BLUE_1)
    with story.judge.change("blue"):
        story.look(BLUE_1, pinned={"a", "b"})
        story.sets = ()
    story.look(pinned=set())


def test_what_was_held_may_go_from_the_begin_of_a_change() -> None:
    story = held_story()
    beginning = story.judge.begin()
    before = story.claimed(BLUE_1)
    with story.judge.change("blue"):
        story.sets = (image_set(BLUE_2),)
        story.judge.judge(beginning, before=before, pinned=set(), after=None)
        story.look(BLUE_1, pinned=set())
    story.judge.judge(beginning, before=None, pinned=set(), after=None)


CONVERGED = {
    "desired": {"blue": {"a", "b"}},
    "pinned": {"a", "b", "of others"},
    "sets": (image_set(BLUE_1, ready=True),),
    "node": node(BLUE_1),
}


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        pytest.param({}, [], id="no fault"),
        pytest.param({"pinned": {"a"}}, ["b is not pinned"], id="a pin is lost"),
        pytest.param({"pinned": {"a", "b", "c"}}, ["c is still pinned"], id="an unpin is lost"),
        pytest.param(
            {"sets": (image_set(BLUE_1),)}, ["blue is not Ready"], id="a set is not Ready"
        ),
        pytest.param({"node": node()}, ["the node reports"], id="a report is lost"),
        pytest.param(
            {"node": node(BLUE_1, Version("red", "gone", 1))},
            ["the node reports"],
            id="a deleted set is still reported",
        ),
        pytest.param(
            {"node": node(BLUE_AGAIN)}, ["the node reports"], id="the report is about a namesake"
        ),
        pytest.param(
            {"desired": {"blue": {"a", "b"}, "red": {"a"}}},
            ["the API server has"],
            id="the API server lost a set",
        ),
    ],
)
def test_what_is_wrong_when_everything_runs_again_is_noticed(
    fault: dict[str, object], expected: list[str]
) -> None:
    found = judge.differences(images=ALL, **CONVERGED | fault)  # type: ignore[arg-type]
    assert len(found) == len(expected)
    assert all(map(str.startswith, found, expected))


def test_a_pin_of_a_deleted_set_is_noticed_when_no_set_is_left() -> None:
    found = judge.differences({}, ALL, pinned={"a"}, sets=(), node=node())
    assert found == ["a is still pinned"]
