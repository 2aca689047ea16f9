"""The world of a test."""

from collections.abc import AsyncIterator

import pytest

from tests.adapters.storage import s3
from tests.adapters.storage.s3 import Bucket
from tests.pruning.sweep.worlds import SweepWorld


@pytest.fixture
def swept() -> SweepWorld:
    return SweepWorld()


@pytest.fixture
async def bucket(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bucket]:
    async with s3.serving() as served:
        for name, value in s3.environment(served).items():
            monkeypatch.setenv(name, value)
        yield served
