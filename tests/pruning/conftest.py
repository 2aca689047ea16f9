"""The world of a test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.adapters.storage import s3
from tests.adapters.storage.s3 import Bucket
from tests.pruning import image_streams, worlds
from tests.pruning.image_streams import Streams
from tests.pruning.worlds import World


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with worlds.opened(tmp_path) as opened:
        yield opened


@pytest.fixture
async def streams() -> AsyncIterator[Streams]:
    async with image_streams.opened() as opened:
        yield opened


@pytest.fixture
async def bucket(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bucket]:
    async with s3.serving() as served:
        for name, value in s3.environment(served).items():
            monkeypatch.setenv(name, value)
        yield served
