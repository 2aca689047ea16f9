"""The time of a storage, by an object that is written and deleted again."""

from typing import Any

import pytest

from lading.pruning.engine.inventory import storage_clock
from tests.pruning.sweep.memory_storage import START, MemoryStorage


async def test_the_time_is_that_of_the_storage_and_nothing_is_left() -> None:
    storage = MemoryStorage()
    assert await storage_clock.server_time(storage) == START
    assert storage.objects == {}


async def test_an_attempt_that_got_no_answer_and_is_repeated_is_no_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The client of a storage repeats what failed on its way back."""
    storage = MemoryStorage()
    whole = storage.put

    async def put(path: str, content: bytes, **more: Any) -> None:
        await whole(path, content, **more)
        await whole(path, content, **more)

    monkeypatch.setattr(storage, "put", put)
    assert await storage_clock.server_time(storage) == START
    assert storage.objects == {}
