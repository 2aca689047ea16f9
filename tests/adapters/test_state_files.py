"""The state file: replaced whole, and changed by one task of one process at a time."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lading.adapters import state_files
from lading.adapters.state_files import FileJournal, LocalStateFile
from lading.kernel.errors import Malformed

WRITERS = 20
_ADD_ONE = """
import asyncio, pathlib, sys
from lading.adapters.state_files import LocalStateFile

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


async def test_no_link_below_the_root_is_followed(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    (outside / "state.json").write_bytes(b"precious")
    root.mkdir()
    (root / "registry").symlink_to(outside)
    (root / "state.json").symlink_to(outside / "state.json")
    linked = LocalStateFile(root / "registry/state.json", root=root)
    with pytest.raises(OSError, match="it is a symbolic link"):
        await linked.read()
    with pytest.raises(OSError, match="it is a symbolic link"):
        await linked.replace(b"changed")
    with pytest.raises(OSError, match="it is a symbolic link"):
        async with linked.locked():
            pass
    assert os.listdir(outside) == ["state.json"]
    itself = LocalStateFile(root / "state.json", root=root)
    with pytest.raises(OSError, match="it is a symbolic link"):
        await itself.read()
    await itself.replace(b"changed")
    assert (outside / "state.json").read_bytes() == b"precious"
    assert await itself.read() == b"changed"


def test_a_name_that_leads_out_of_the_root_is_refused(tmp_path: Path) -> None:
    """As that of a registry, which an object of the API names."""
    with pytest.raises(Malformed, match="expected a path below"):
        LocalStateFile(tmp_path / ".." / "state.json", root=tmp_path)


async def test_a_file_that_is_too_large_or_none_is_refused_at_once(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(OSError, match="is larger than"):
        await LocalStateFile(tmp_path / "large").read()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="it is a pipe"):
        await LocalStateFile(tmp_path / "pipe").read()


def as_folder(path: Path) -> None:
    (path / "something").mkdir(parents=True)


def as_loop(path: Path) -> None:
    path.symlink_to(path)


def as_pipe(path: Path) -> None:
    os.mkfifo(path)


def as_huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1024 * 1024 * 1024 * 1024)  # a sparse terabyte


def as_bytes(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 1000)


def as_deep(path: Path) -> None:
    path.write_bytes(b'["a",' + b"[" * 100_000)


@pytest.mark.parametrize("bad", [as_folder, as_loop, as_pipe, as_huge, as_bytes, as_deep])
def test_a_bad_file_is_a_fresh_start(bad: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "journal"
    bad(path)
    subject = FileJournal(path)
    assert subject.entries() == {}
    subject.put("a", 1)
    assert FileJournal(path).entries() == {"a": 1}


def test_a_link_at_the_name_of_a_journal_is_neither_read_nor_written_through(
    tmp_path: Path,
) -> None:
    outside, path = tmp_path / "outside", tmp_path / "journal"
    outside.write_bytes(b'["a",1]')
    path.symlink_to(outside)
    subject = FileJournal(path)
    assert subject.entries() == {}
    subject.put("b", 2)
    path.unlink()
    path.symlink_to(outside)
    with pytest.raises(OSError, match="symbolic links"):
        subject.put("c", 3)
    assert outside.read_bytes() == b'["a",1]'


def test_a_file_that_was_cut_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    subject = FileJournal(path)
    subject.put("a", {"x": 1})
    subject.put("b", {"x": 2})
    path.write_bytes(path.read_bytes()[:-4])
    assert FileJournal(path).entries() == {"a": {"x": 1}}
    FileJournal(path).put("c", {"x": 3})
    assert FileJournal(path).entries() == {"a": {"x": 1}, "c": {"x": 3}}


def test_a_line_that_is_no_text_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_bytes(b'["\xff", 1]\n["a", 1]')
    assert FileJournal(path).entries() == {"a": 1}


def test_a_full_journal_is_begun_anew_and_then_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_files, "BYTES_MAX", 3 * len('\n["a",1]'))
    subject = FileJournal(tmp_path / "journal")
    for key in "abcde":
        subject.put(key, 1)
    assert set(subject.entries()) == {"d", "e"}
    assert set(FileJournal(tmp_path / "journal").entries()) == {"d", "e"}


def test_a_file_that_is_larger_than_a_journal_is_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its content must not fill the memory of an agent."""
    file = tmp_path / "journal"
    FileJournal(file).put("a", "x" * 200)
    monkeypatch.setattr(state_files, "BYTES_MAX", 100)
    assert FileJournal(file).entries() == {}
    assert [path.name for path in tmp_path.iterdir()] == ["journal.unreadable"]


def test_a_note_that_is_larger_than_a_journal_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_files, "BYTES_MAX", 100)
    subject = FileJournal(tmp_path / "journal")
    subject.put("a", "x" * 200)
    subject.put("b", 1)
    assert subject.entries() == {"b": 1}
