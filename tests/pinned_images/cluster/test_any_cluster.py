"""Whatever people and nodes do, in whatever order: the cluster counts right and gets steady."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.machine_config_node import (
    MachineConfigNode,
    NameRef,
    NodePinnedImageSet,
)
from lading.api.machineconfiguration.machine_config_pool import (
    MachineConfigPool,
    MachineConfigPoolStatus,
)
from lading.api.machineconfiguration.pinned_image_set import PinnedImageSet, PinnedImageSetStatus
from lading.kernel.pacing import Pacing
from lading.kernel.planning import Plan
from lading.kernel.values import replace
from lading.pinned_images.cluster import plan, rules
from lading.pinned_images.cluster.types import (
    ApplyMachineConfigNode,
    AssignSetsToPool,
    CreatePool,
    WriteSetStatus,
)
from lading.pools.types import WritePoolStatus
from tests.pinned_images.cluster.build import (
    NOW,
    Cluster,
    applied,
    image_set,
    machine_config_node,
    node,
    plan_node,
    plan_pool,
    plan_pool_status,
    plan_set,
    pool,
)

ROOM = 3
"""Sets per pool, so that pools are full all the time."""
TEST_SECONDS_MAX = 900  # `make fuzz` draws many more, on a busy machine
CLUSTERS = settings().max_examples // 3
EVENTS_PER_CLUSTER_MAX = 20
ROUNDS_MAX = 5
"""More often nothing need be planned before there is nothing left to do."""
PERSON = "kubectl"
NAMES = [f"set-{number}" for number in range(ROOM + 1)]
SETS = st.sampled_from(NAMES)
NODES = st.sampled_from(["n-1", "n-2"])
POOLS = st.sampled_from(["worker", "infra"])
SELECTORS: dict[str, dict[str, Any]] = {
    "infra": {
        "machineConfigSelector": None,
        "nodeSelector": {"matchLabels": {"infra": "yes"}},
    },
    **plan.DEFAULT_POOLS,
}


@dataclass
class Pool:
    entries: dict[str, set[str]] = field(default_factory=dict)
    """The managers of each entry."""
    status: MachineConfigPoolStatus = field(default_factory=MachineConfigPoolStatus)

    def apply(self, manager: str, names: Iterable[str]) -> None:
        wanted = set(names)
        for name in wanted:
            self.entries.setdefault(name, set()).add(manager)
        for name in self.entries.keys() - wanted:
            self.entries[name].discard(manager)
        self.entries = {name: owners for name, owners in self.entries.items() if owners}

    def owned(self, manager: str) -> set[str]:
        return {name for name, owners in self.entries.items() if manager in owners}

    def object(self, name: str) -> MachineConfigPool:
        managed = [
            one for by in (rules.FIELD_MANAGER, PERSON) for one in applied(*self.owned(by), by=by)
        ]
        made = pool(name, sets=tuple(sorted(self.entries)), managed=managed, **SELECTORS[name])
        return replace(made, status=self.status)


class AnyCluster(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        self.pools: dict[str, Pool] = {"infra": Pool()}
        self.sets: dict[str, PinnedImageSet] = {}
        self.nodes = {name: node(name) for name in ("n-1", "n-2")}
        self.reports: dict[str, MachineConfigNode] = {}
        self.statuses_at: dict[str, datetime] = {}
        self.uids = itertools.count(1)
        self.is_on = True
        self.plans_max = 100
        for name in NAMES:
            self.a_set_is_written(name, "worker")

    @rule(name=SETS, role=POOLS)
    def a_set_is_written(self, name: str, role: str) -> None:
        before = self.sets.get(name)
        generation = before.metadata.generation + 1 if before else 1
        uid = before.metadata.uid if before else f"uid-{next(self.uids)}"
        made = image_set(name, role=role, generation=generation, uid=uid)
        status = before.status if before else PinnedImageSetStatus()
        self.sets[name] = replace(made, status=status)

    @rule(name=SETS)
    def a_set_is_deleted(self, name: str) -> None:
        self.sets.pop(name, None)

    @rule(name=POOLS, entries=st.sets(SETS))
    def a_person_enters(self, name: str, entries: set[str]) -> None:
        if name in self.pools:
            ours = self.pools[name].owned(rules.FIELD_MANAGER)
            self.pools[name].apply(PERSON, sorted(entries)[: ROOM - len(ours - entries)])

    @rule(name=POOLS)
    def a_pool_is_deleted(self, name: str) -> None:
        self.pools.pop(name, None)

    @rule(name=NODES, is_infra=st.booleans(), is_ready=st.booleans())
    def a_node_is(self, name: str, is_infra: bool, is_ready: bool) -> None:
        self.nodes[name] = (
            node(name, ready=is_ready, infra="yes") if is_infra else node(name, ready=is_ready)
        )

    @rule(name=NODES, held=st.sets(SETS))
    def a_node_reports_that_it_holds(self, name: str, held: set[str]) -> None:
        """Sets as they are now; they may be edited, or made again, before it reports anew."""
        existing = {one: self.sets[one].metadata for one in held & self.sets.keys()}
        report = machine_config_node(name)
        entries = tuple(
            NodePinnedImageSet(
                name=one,
                uid=found.uid,
                current_generation=found.generation,
                desired_generation=found.generation,
            )
            for one, found in sorted(existing.items())
        )
        status = replace(report.status, pinned_image_sets=entries)
        self._report(name, replace(report, status=status))

    @rule(name=NODES, reason=st.sampled_from(("NoSpace", "PrefetchFailed")))
    def a_node_reports_a_problem(self, name: str, reason: str) -> None:
        self._report(name, machine_config_node(name, error="it broke", reason=reason))

    def _report(self, name: str, new: MachineConfigNode) -> None:
        if name in self.reports:
            self.reports[name] = replace(self.reports[name], status=new.status)

    @rule(is_on=st.booleans())
    def the_gate_is(self, is_on: bool) -> None:
        self.is_on = is_on

    @rule(seconds=st.sampled_from((-3600, 1, 30, 600)))
    def time_passes(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    @rule()
    def the_controller_is_killed(self) -> None:
        self.statuses_at.clear()

    @rule(plans_max=st.sampled_from((0, 2, 4, 100)))
    def the_controller_gets_no_further_than(self, plans_max: int) -> None:
        self.plans_max = plans_max

    @invariant()
    def the_controller_works(self) -> None:
        for name, found in itertools.islice(self._plans(), self.plans_max):
            self._apply(name, found)

    def teardown(self) -> None:
        for _ in range(ROUNDS_MAX):
            plans = list(self._plans())
            for name, found in plans:
                self._apply(name, found)
            if not any(found.actions or found.recheck_at for _, found in plans):
                self._check_that_all_is_counted()
                return
            self.now += Pacing().interval_max
        raise AssertionError(f"there is still something to do: {plans}")

    def _cluster(self, name: str) -> Cluster:
        return Cluster(
            nodes=tuple(self.nodes.values()),
            pools=tuple(one.object(name) for name, one in self.pools.items()),
            sets=tuple(self.sets.values()),
            machine_config_nodes=tuple(self.reports.values()),
            status_at=self.statuses_at.get(name),
            is_on=self.is_on,
        )

    def _plans(self) -> Iterable[tuple[str, Plan]]:
        for name in tuple(self.nodes):
            yield name, plan_node(name, self._cluster(name))
        for name in sorted({"worker", *self.pools}):
            yield name, plan_pool(name, self._cluster(name))
            yield name, plan_pool_status(name, self._cluster(name), self.now)
        for name in tuple(self.sets):
            yield name, plan_set(name, self._cluster(name), self.now)

    def _apply(self, name: str, found: Plan) -> None:
        assert found.recheck_at is None or found.recheck_at > self.now
        for action in found.actions:
            match action:
                case CreatePool():
                    self.pools[name] = Pool()
                case AssignSetsToPool(sets=sets):
                    self.pools[name].apply(rules.FIELD_MANAGER, sets)
                    assert len(self.pools[name].entries) <= ROOM
                case WritePoolStatus(status=status):
                    self.pools[name].status = status
                    self._written(name)
                case WriteSetStatus(status=set_status):
                    changed = replace(self.sets[name], status=set_status)
                    self.sets[name] = changed
                    self._written(name)
                case ApplyMachineConfigNode(pool=primary):
                    before = self.reports.get(name, machine_config_node(name))
                    spec = replace(before.spec, pool=NameRef(name=primary))
                    self.reports[name] = replace(before, spec=spec)

    def _written(self, name: str) -> None:
        self.statuses_at[name] = self.now

    def _check_that_all_is_counted(self) -> None:
        for name, one in self.pools.items():
            selected = {own for own, found in self.sets.items() if role_of(found) == name}
            ours = one.owned(rules.FIELD_MANAGER)
            assert ours <= (selected if self.is_on else set())
            assert not self.is_on or selected <= one.entries.keys() or len(one.entries) == ROOM
            (counts,) = one.status.pool_synchronizers_status
            members = {one for one in self._members(name) if self._primary(one) == name}
            assert counts.machine_count == len(members)
            assert counts.updated_machine_count == sum(map(self._has_everything, members))
        for name, found in self.sets.items():
            holders = {
                member
                for pool_name, one in self.pools.items()
                if name in one.entries
                for member in self._members(pool_name)
            }
            status = found.status
            assert status.observed_generation == found.metadata.generation
            assert status.node_count == len(holders)
            assert status.ready_node_count == sum(self._holds(one, name) for one in holders)

    def _members(self, pool_name: str) -> set[str]:
        labels = {name: one.metadata.labels for name, one in self.nodes.items()}
        return {name for name in labels if pool_name == "worker" or "infra" in labels[name]}

    def _primary(self, name: str) -> str:
        is_infra = "infra" in self.nodes[name].metadata.labels and "infra" in self.pools
        return "infra" if is_infra else "worker"

    def _has_everything(self, name: str) -> bool:
        pools = (one for own, one in self.pools.items() if name in self._members(own))
        wanted = {entry for one in pools for entry in one.entries} & self.sets.keys()
        return all(self._holds(name, one) for one in wanted)

    def _holds(self, name: str, set_name: str) -> bool:
        entries = self.reports[name].status.pinned_image_sets if name in self.reports else ()
        held = {one.name: (one.uid, one.current_generation) for one in entries}
        wanted = self.sets[set_name].metadata
        return held.get(set_name) == (wanted.uid, wanted.generation)


def role_of(image_set: PinnedImageSet) -> str:
    return image_set.metadata.labels[group.ROLE_LABEL]


@pytest.mark.hypothesis
@pytest.mark.timeout(TEST_SECONDS_MAX)
def test_whatever_happens_the_cluster_counts_right_and_gets_steady() -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(group, "SETS_PER_POOL_MAX", ROOM)
        run_state_machine_as_test(
            AnyCluster,
            settings=settings(
                max_examples=CLUSTERS,
                stateful_step_count=EVENTS_PER_CLUSTER_MAX,
            ),
        )
