"""One sweep at a time, on storage with versions and on files; a lock can be taken over."""

import asyncio
import os
import socket
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lading.adapters.storage import object_storage
from lading.ports import storage as storages
from lading.ports.storage import Storage
from lading.pruning.engine import holder as holders
from lading.pruning.engine.holder import Holder
from lading.pruning.sweep import lock
from lading.pruning.sweep.lock import StorageLock, SweepInProgress
from tests.pruning.sweep.memory_storage import MemoryStorage

NO_PROCESS = 2**22 + 1  # above the largest process id of Linux
HERE = (socket.gethostname(), holders._visible_processes())


@pytest.fixture(params=["memory", "files"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    if request.param == "memory":
        return MemoryStorage()
    return object_storage.open_storage(f"file://{tmp_path}", environment={})


async def leave(storage: Storage, *, pid: int, is_here: bool = False) -> None:
    """As a sweep of another machine, or of this one."""
    host, processes = ("elsewhere", "other boot") if not is_here else HERE
    await storage.put(lock.PATH, msgspec.json.encode(Holder("left", host, pid, processes)))


async def test_a_second_sweep_is_refused_and_the_lock_goes_with_the_first(
    storage: Storage,
) -> None:
    async with StorageLock(storage).held():
        with pytest.raises(SweepInProgress, match=f"process {os.getpid()}"):
            async with StorageLock(storage).held():
                pass
    assert await storage.head(lock.PATH) is None
    async with StorageLock(storage).held():
        pass


@pytest.mark.parametrize(
    "content",
    [b"\xff", msgspec.json.encode(Holder("left", "elsewhere\nFreed everything", 1, "other boot"))],
)
async def test_a_lock_without_a_readable_owner_is_said_to_name_none(
    storage: Storage, content: bytes
) -> None:
    await storage.put(lock.PATH, content)
    with pytest.raises(SweepInProgress, match=r"in progress \(lading/sweep/lock names no process"):
        async with StorageLock(storage).held():
            pass


async def test_the_lock_of_a_process_of_this_machine_that_has_ended_is_taken_over(
    storage: Storage,
) -> None:
    own = StorageLock(storage)
    await leave(storage, pid=NO_PROCESS, is_here=True)
    async with own.held():
        await own.check()


@pytest.mark.parametrize("processes", ["", f"{HERE[1]} of another container"])
async def test_the_lock_of_a_process_that_is_not_visible_is_not_taken_over_at_once(
    storage: Storage, processes: str
) -> None:
    """Containers with the network of one host share its name, and have process ids of their own."""
    holder = Holder("left", HERE[0], NO_PROCESS, processes)
    await storage.put(lock.PATH, msgspec.json.encode(holder))
    with pytest.raises(SweepInProgress, match=f"on {HERE[0]}"):
        async with StorageLock(storage).held():
            pass


async def test_where_processes_have_no_name_no_lock_is_taken_over_at_once(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holders, "_visible_processes", lambda: "")
    holder = Holder("left", HERE[0], NO_PROCESS)
    await storage.put(lock.PATH, msgspec.json.encode(holder))
    with pytest.raises(SweepInProgress):
        async with StorageLock(storage).held():
            pass


async def test_a_lock_is_as_old_as_the_clock_of_the_storage_says() -> None:
    """Whatever the clock of this machine shows."""
    storage = MemoryStorage()
    await leave(storage, pid=NO_PROCESS)
    storage.pass_time(seconds=lock.PERIOD_DEFAULT.total_seconds() - 1)
    with pytest.raises(SweepInProgress):
        async with StorageLock(storage).held():
            pass
    storage.pass_time(seconds=1)
    async with StorageLock(storage).held():
        pass


async def test_the_lock_of_another_machine_is_taken_over_when_its_period_is_over(
    storage: Storage,
) -> None:
    await leave(storage, pid=NO_PROCESS)
    with pytest.raises(SweepInProgress, match="on elsewhere"):
        async with StorageLock(storage).held():
            pass
    async with StorageLock(storage, period=timedelta(0)).held():
        pass


async def test_who_lost_the_lock_changes_nothing_more(storage: Storage) -> None:
    own = StorageLock(storage)
    async with own.held():
        await leave(storage, pid=1)
        with pytest.raises(SweepInProgress, match="took over"):
            await own.check()
    assert await storage.head(lock.PATH) is not None


async def test_of_several_that_take_over_one_gets_it(storage: Storage) -> None:
    await leave(storage, pid=NO_PROCESS, is_here=True)
    end = asyncio.Event()
    everyone = asyncio.Event()
    held: list[bool] = []

    def note(is_held: bool) -> None:
        held.append(is_held)
        if len(held) == 5:
            everyone.set()

    async def one() -> None:
        try:
            async with StorageLock(storage).held():
                note(True)
                await end.wait()
        except SweepInProgress:
            note(False)

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        for _ in range(5):
            group.create_task(one())
        await everyone.wait()
        end.set()
    assert sum(held) == 1


async def test_a_lock_is_renewed_while_it_is_held() -> None:
    storage = MemoryStorage()
    async with StorageLock(storage, period=timedelta(milliseconds=50)).held():
        renewed = asyncio.Event()
        storage.before_change = lambda _path: renewed.set()
        async with asyncio.timeout(60):
            await renewed.wait()


async def test_a_claim_of_a_sweep_that_was_cut_off_holds_up_one_run(tmp_path: Path) -> None:
    """On files, where the stale lock is replaced by who has the claim to it."""
    storage = object_storage.open_storage(f"file://{tmp_path}", environment={})
    own = StorageLock(storage, period=timedelta(0))
    await leave(storage, pid=NO_PROCESS, is_here=True)
    await storage.put(f"{lock.PATH}-left", b"")
    with pytest.raises(SweepInProgress):
        async with own.held():
            pass
    async with own.held():
        await own.check()


async def test_a_claim_of_a_sweep_that_is_at_work_stays(tmp_path: Path) -> None:
    storage = object_storage.open_storage(f"file://{tmp_path}", environment={})
    await leave(storage, pid=NO_PROCESS, is_here=True)
    await storage.put(f"{lock.PATH}-left", b"")
    for _ in range(2):
        with pytest.raises(SweepInProgress):
            async with StorageLock(storage).held():
                pass
    assert await storage.head(f"{lock.PATH}-left") is not None


async def test_a_stale_lock_that_another_took_over_before_the_claim_stays_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On files: the other had the claim, replaced the lock and dropped the claim."""
    storage = object_storage.open_storage(f"file://{tmp_path}", environment={})
    own, other = StorageLock(storage), StorageLock(storage)
    await leave(storage, pid=NO_PROCESS, is_here=True)
    whole = storage.put

    async def put(path: str, content: bytes, **more: Any) -> None:
        if path == f"{lock.PATH}-left":
            await other._put(None)
        await whole(path, content, **more)

    monkeypatch.setattr(storage, "put", put)
    with pytest.raises(SweepInProgress):
        async with own.held():
            pass
    await other.check()


async def test_who_lost_the_lock_does_not_renew_it(storage: Storage) -> None:
    own = StorageLock(storage, period=timedelta(milliseconds=1))
    await leave(storage, pid=1)
    async with asyncio.timeout(60):
        with pytest.raises(SweepInProgress, match="took over"):
            await own._renew()


@pytest.mark.parametrize("is_stale", [False, True])
async def test_a_lock_that_an_attempt_without_answer_has_written_is_held(
    is_stale: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client repeats a request that failed on its way back, and finds its own lock."""
    storage = MemoryStorage()
    own = StorageLock(storage)
    if is_stale:
        await leave(storage, pid=NO_PROCESS, is_here=True)
    whole = storage.put

    async def put(path: str, content: bytes, **more: Any) -> None:
        await whole(path, content, **more)
        await whole(path, content, **more)

    with monkeypatch.context() as patched:
        patched.setattr(storage, "put", put)
        async with own.held():
            await own.check()
    assert await storage.head(lock.PATH) is None


async def test_a_lock_that_gets_no_answer_is_not_left_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    storage = MemoryStorage()
    whole = storage.put

    async def put(path: str, content: bytes, **more: Any) -> None:
        await whole(path, content, **more)
        raise storages.Unavailable(f"{path}: no answer in time")

    monkeypatch.setattr(storage, "put", put)
    with pytest.raises(storages.Unavailable, match="no answer"):
        async with StorageLock(storage).held():
            pass
    assert storage.objects == {}


async def test_a_lock_that_cannot_be_read_counts_by_its_age(storage: Storage) -> None:
    await storage.put(lock.PATH, b"half a lo")
    with pytest.raises(SweepInProgress):
        async with StorageLock(storage).held():
            pass
    own = StorageLock(storage, period=timedelta(0))
    async with own.held():
        await own.check()
