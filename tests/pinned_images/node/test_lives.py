"""Whatever happens to a node, in whatever order: it keeps its promises and ends well.

And the lives would notice if it did not: faults are built in, one at a time.
"""

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.pinned_images.node.any_life import EVENTS_PER_LIFE_MAX, AnyLife
from tests.pinned_images.node.seeded_faults import FAULTS, MISSED, Fault

LIVES = settings().max_examples // 6
LIVES_WITH_A_FAULT_MAX = 300
"""Most faults are noticed within ten."""
TEST_SECONDS_MAX = 900  # `make fuzz` draws ten times as many, on a busy machine


@pytest.mark.hypothesis
@pytest.mark.timeout(TEST_SECONDS_MAX)
def test_whatever_happens_to_a_node_it_keeps_its_promises_and_ends_well() -> None:
    run_state_machine_as_test(
        AnyLife,
        settings=settings(
            max_examples=LIVES,
            stateful_step_count=EVENTS_PER_LIFE_MAX,
        ),
    )


def test_there_are_faults_of_many_kinds() -> None:
    assert len({fault.name for fault in FAULTS}) >= 20
    assert len({(fault.module, fault.function) for fault in FAULTS}) >= 16
    assert len(FAULTS) - len(MISSED) >= 16


@pytest.mark.soak
@pytest.mark.hypothesis
@pytest.mark.timeout(TEST_SECONDS_MAX)
@pytest.mark.parametrize(
    "fault", [one for one in FAULTS if one.name not in MISSED], ids=lambda one: one.name
)
def test_lives_notice(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    right = getattr(fault.module, fault.function)
    monkeypatch.setattr(fault.module, fault.function, fault.becomes(right))
    with pytest.raises((AssertionError, LookupError, ExceptionGroup)):
        run_state_machine_as_test(
            AnyLife,
            settings=settings(
                max_examples=LIVES_WITH_A_FAULT_MAX,
                stateful_step_count=EVENTS_PER_LIFE_MAX,
                phases=(Phase.generate,),  # found is enough: no smaller example is wanted
                database=None,
                derandomize=True,
                report_multiple_bugs=False,
                suppress_health_check=tuple(HealthCheck),
            ),
        )
