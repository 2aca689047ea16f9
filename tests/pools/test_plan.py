"""How the facts of features become the one status of a pool."""

from datetime import timedelta
from typing import Any

import pytest

from lading.api.machineconfiguration.machine_config_pool import (
    MachineConfigPool,
    MachineConfigPoolStatus,
)
from lading.kernel import conditions
from lading.kernel.planning import Plan, RecordEvent
from lading.kernel.values import replace
from lading.pools.plan import plan
from lading.pools.types import FIELD_MANAGER, ObservedPool, WritePoolStatus
from lading.ports.pools import PoolFacts
from tests.pools.build import NOW, condition, facts, pool


def planned(found: MachineConfigPool, *of_features: PoolFacts, **parts: Any) -> Plan:
    return plan(ObservedPool(pool=found, generation=4, facts=of_features, **parts), NOW)


def written(found: Plan) -> WritePoolStatus:
    (action,) = [one for one in found.actions if isinstance(one, WritePoolStatus)]
    return action


def degraded(status: MachineConfigPoolStatus) -> tuple[str, str, str]:
    found = conditions.find(status.conditions, "Degraded")
    assert found is not None
    return found.status, found.reason, found.message


def with_status(status: MachineConfigPoolStatus, *ours: str) -> MachineConfigPool:
    """A pool as the API server stores it after our write of these conditions."""
    fields: dict[str, Any] = {f'k:{{"type":"{one}"}}': {} for one in ours}
    managed = {
        "manager": FIELD_MANAGER,
        "operation": "Apply",
        "subresource": "status",
        "fieldsV1": {"f:status": {"f:conditions": fields}},
    }
    metadata = {"name": "infra", "uid": "uid-infra", "generation": 4, "managedFields": [managed]}
    return replace(pool(metadata=metadata), status=status)


def test_every_feature_contributes_to_the_one_status_of_a_pool() -> None:
    action = written(
        planned(
            pool(),
            facts("ADegraded", error="a: full", reason="NoSpace"),
            facts("BDegraded", error="machine set m"),
        )
    )
    assert degraded(action.status) == ("True", "NoSpace", "a: full; machine set m")
    assert action.conditions == {"Degraded", "ADegraded", "BDegraded"}
    assert {one.observed_generation for one in action.status.conditions} == {4}


@pytest.mark.parametrize(("updated", "expected"), [(2, 3), (3, 4)])
def test_the_generation_of_a_synchronizer_is_the_last_that_every_machine_has(
    updated: int, expected: int
) -> None:
    (counts,) = facts(machines=3).synchronizers
    before = replace(counts, observed_generation=3)
    now = replace(counts, updated_machine_count=updated)
    found = with_status(MachineConfigPoolStatus(pool_synchronizers_status=(before,)))
    action = written(planned(found, PoolFacts(synchronizers=(now,))))
    (synchronizer,) = action.status.pool_synchronizers_status
    assert synchronizer.observed_generation == expected


def test_one_feature_without_an_error_does_not_hide_that_of_another() -> None:
    action = written(planned(pool(), facts("ADegraded"), facts("BDegraded", error="machine set m")))
    assert degraded(action.status) == ("True", "Broken", "machine set m")
    assert degraded(written(planned(pool(), facts())).status) == (
        "False",
        "AsExpected",
        "No errors",
    )


def test_where_no_feature_reports_on_a_pool_nothing_is_claimed() -> None:
    assert planned(pool()) == Plan()


def test_what_no_feature_reports_any_more_is_dropped_and_what_others_report_stays() -> None:
    status = MachineConfigPoolStatus(
        conditions=(
            condition("ADegraded", error="old"),
            condition("Degraded", error="old"),
            condition("Updated"),
        )
    )
    found = with_status(status, "ADegraded", "Degraded")
    kept = written(planned(found, facts("BDegraded")))
    assert [one.type for one in kept.status.conditions] == ["BDegraded", "Degraded", "Updated"]
    assert kept.conditions == {"BDegraded", "Degraded"}
    none = written(planned(found))
    assert [one.type for one in none.status.conditions] == ["Updated"]
    assert none.conditions == frozenset()


def test_the_pool_of_another_operator_is_not_written() -> None:
    theirs = pool(spec={"configuration": {"name": "rendered-infra-1"}})
    assert planned(theirs, facts(error="it broke")) == Plan()


def test_a_condition_that_becomes_true_or_false_is_an_event() -> None:
    def events(found: Plan) -> list[tuple[str, bool, str]]:
        recorded = [one for one in found.actions if isinstance(one, RecordEvent)]
        return [(one.reason, one.warning, one.because) for one in recorded]

    broken = planned(pool(), facts(error="it broke"))
    assert events(broken) == [
        ("Degraded", True, "ADegraded: Broken: it broke"),
        ("Degraded", True, "Degraded: Broken: it broke"),
    ]
    after = with_status(written(broken).status, "ADegraded", "Degraded")
    assert events(planned(after, facts())) == [
        ("Recovered", False, "ADegraded: No errors"),
        ("Recovered", False, "Degraded: No errors"),
    ]


@pytest.mark.parametrize(
    ("machines", "error", "is_at_once"), [(20, "", False), (10, "", True), (20, "it broke", True)]
)
def test_an_error_is_written_at_once_and_a_count_at_its_interval(
    machines: int, error: str, is_at_once: bool
) -> None:
    first = written(planned(pool(), facts(machines=5))).status
    found = with_status(first, "ADegraded", "Degraded")
    second = planned(found, facts(machines=machines, error=error), status_at=NOW)
    assert bool(second.actions) is is_at_once
    wait = timedelta(seconds=100)
    assert second.recheck_at == (None if is_at_once else NOW + wait)


@pytest.mark.parametrize(
    ("machines", "updated", "is_at_once"),
    [(20, 19, True), (21, 20, True), (20, 20, False)],
    ids=["a machine lost an image", "a machine joined", "a condition has another message"],
)
def test_that_all_machines_are_updated_is_withdrawn_at_once(
    machines: int, updated: int, is_at_once: bool
) -> None:
    first = written(planned(pool(), facts(machines=20, updated=20))).status
    found = with_status(first, "ADegraded", "Degraded")
    reported = facts(machines=machines, updated=updated, message="other words")
    assert bool(planned(found, reported, status_at=NOW).actions) is is_at_once


def test_good_news_of_a_large_pool_waits_a_moment_after_a_write() -> None:
    first = written(planned(pool(), facts(machines=200, error="it broke"))).status
    found = with_status(first, "ADegraded", "Degraded")
    second = planned(found, facts(machines=200), status_at=NOW)
    assert second == Plan(recheck_at=NOW + timedelta(seconds=2))


def test_nothing_is_written_when_nothing_changed() -> None:
    first = written(planned(pool(), facts(machines=5))).status
    assert planned(with_status(first, "ADegraded", "Degraded"), facts(machines=5)) == Plan()


def test_a_message_is_bounded() -> None:
    many = written(planned(pool(), facts(error="x" * 5000)))
    assert len(degraded(many.status)[2]) == 1024


def test_a_long_message_keeps_whole_items_of_each_feature_and_counts_the_others() -> None:
    nodes = "; ".join(f"node-{number:02}: no space for the images" for number in range(60))
    sets = "; ".join(f"set-{number:02}: Secret a/b does not exist" for number in range(60))
    for second, count in ((sets, 60), (f"{sets}; and 7 more", 67)):
        found = written(planned(pool(), facts(error=nodes), facts("BDegraded", error=second)))
        message = degraded(found.status)[2]
        assert len(message) <= 1024
        items = message.split("; ")
        for kind, total in (("node-", 60), ("set-", count)):
            whole = [one for one in items if one.startswith(kind)]
            assert len(whole) > 5
            assert all(one in nodes or one in sets for one in whole)
            assert f"and {total - len(whole)} more" in items


def test_a_short_message_leaves_its_room_to_the_other_feature() -> None:
    long = " ".join(f"word{number}" for number in range(300))
    found = written(planned(pool(), facts(error=long), facts("BDegraded", error="set m: denied")))
    message = degraded(found.status)[2]
    assert 1000 < len(message) <= 1024
    assert message.endswith(" ...; set m: denied")
    assert set(message.removesuffix(" ...; set m: denied").split()) <= set(long.split())
