"""Whatever happens to a node, in whatever order: it keeps its promises and ends well."""

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.pinned_images.node.any_life import EVENTS_PER_LIFE_MAX, AnyLife

LIVES = settings().max_examples // 6
TEST_SECONDS_MAX = 900  # `make fuzz` draws many more, on a busy machine


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
