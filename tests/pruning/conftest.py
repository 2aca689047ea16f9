"""The world of a test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.pruning import worlds
from tests.pruning.worlds import World


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with worlds.opened(tmp_path) as opened:
        yield opened
