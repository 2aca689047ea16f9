"""The world of a test."""

import pytest

from tests.pruning.sweep.worlds import SweepWorld


@pytest.fixture
def swept() -> SweepWorld:
    return SweepWorld()
