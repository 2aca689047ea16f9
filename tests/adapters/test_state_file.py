"""The state file: replaced whole, and changed by one task of one process at a time."""

import asyncio
import subprocess
import sys
from pathlib import Path

from lading.adapters.state_file import LocalStateFile

WRITERS = 20
_ADD_ONE = """
import asyncio, pathlib, sys
from lading.adapters.state_file import LocalStateFile

async def main():
    file = LocalStateFile(pathlib.Path(sys.argv[1]))
    for _ in range(int(sys.argv[2])):
        async with file.locked():
            number = int(await file.read() or b"0")
            await asyncio.sleep(0)
            await file.replace(str(number + 1).encode())

asyncio.run(main())
"""


async def test_a_file_that_was_never_written_has_no_content(tmp_path: Path) -> None:
    assert await LocalStateFile(tmp_path / "state.json").read() is None


async def test_no_change_is_lost_among_tasks_that_each_have_their_own_object(
    tmp_path: Path,
) -> None:
    path = tmp_path / "made" / "state.json"

    async def add_one() -> None:
        file = LocalStateFile(path)
        async with file.locked():
            number = int(await file.read() or b"0")
            await asyncio.sleep(0)
            await file.replace(str(number + 1).encode())

    await asyncio.gather(*(add_one() for _ in range(WRITERS)))
    assert await LocalStateFile(path).read() == str(WRITERS).encode()


def test_no_change_is_lost_among_processes(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    command = [sys.executable, "-c", _ADD_ONE, str(path), str(WRITERS)]
    processes = [subprocess.Popen(command) for _ in range(2)]
    assert [process.wait(timeout=60) for process in processes] == [0, 0]
    assert path.read_bytes() == str(2 * WRITERS).encode()


async def test_a_task_that_waits_for_the_lock_can_be_cancelled(tmp_path: Path) -> None:
    file = LocalStateFile(tmp_path / "state.json")

    async def wait() -> None:
        async with file.locked():
            raise AssertionError("the other has the lock")

    async with file.locked():
        task = asyncio.create_task(wait())
        await asyncio.sleep(0.05)
        task.cancel()
        assert (await asyncio.gather(task, return_exceptions=True))[0].__class__.__name__ == (
            "CancelledError"
        )
    async with file.locked():
        pass
