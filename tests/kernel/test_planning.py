"""Plans: lanes and instants."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from lading.kernel import planning

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(minutes=5)


@dataclass(frozen=True)
class Say:
    word: str
    lane: str
    because: str = "of the test"


def test_a_plan_gives_its_actions_by_lane_in_order() -> None:
    plan = planning.Plan(actions=(Say("a", "x"), Say("b", "y"), Say("c", "x")))
    assert plan.lanes() == {"x": (Say("a", "x"), Say("c", "x")), "y": (Say("b", "y"),)}


def test_the_earliest_instant_ignores_what_is_absent() -> None:
    assert planning.earliest(None, LATER, NOON) == NOON
    assert planning.earliest(None) is None
