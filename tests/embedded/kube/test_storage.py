"""One suite for both stores: versions, the log, compaction; and what only a file can promise."""

import contextlib
import os
import pathlib
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from lading.embedded.kube.storage import memory, sqlite
from lading.embedded.kube.storage.memory import Change, Compacted, Key, MemoryStorage, NotStored
from tests.embedded.kube.cluster import CONFIG_MAPS, Cluster, config_map, decoded

WRITES_BEFORE_KILL = 50


@pytest.fixture(params=["memory", "sqlite"])
def storage(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Iterator[MemoryStorage]:
    opened: MemoryStorage
    opened = MemoryStorage() if request.param == "memory" else sqlite.open(tmp_path / "db")
    yield opened
    opened.close()


def key(name: str, namespace: str = "default", resource: str = "configmaps") -> Key:
    return Key(resource, namespace, name)


def names(storage: MemoryStorage, at: int, *, namespace: str = "") -> list[str]:
    found = storage.list("configmaps", namespace=namespace, at=at, after=None)
    return [record.key.name for record in found]


def test_each_change_is_one_revision(storage: MemoryStorage) -> None:
    first = storage.put(key("a"), b"1")
    second = storage.put(key("a"), b"2")
    assert (first.revision, second.revision, storage.revision) == (1, 2, 2)
    assert storage.get(key("a")) == second


def test_the_past_stays_as_it_was(storage: MemoryStorage) -> None:
    storage.put(key("a"), b"1")
    storage.put(key("b"), b"1")
    storage.delete(key("a"), b"1")
    assert [names(storage, at) for at in (1, 2, 3)] == [["a"], ["a", "b"], ["b"]]
    assert storage.get(key("a")) is None


def test_a_list_goes_on_after_a_name_that_is_gone(storage: MemoryStorage) -> None:
    for name in "abc":
        storage.put(key(name), b"1")
    storage.delete(key("b"), b"1")
    found = storage.list("configmaps", namespace="", at=4, after=("default", "b"))
    assert [record.key.name for record in found] == ["c"]


def test_a_namespace_is_not_mixed_with_one_that_begins_the_same(storage: MemoryStorage) -> None:
    storage.put(key("x", namespace="team"), b"1")
    storage.put(key("y", namespace="team-a"), b"1")
    assert names(storage, 2, namespace="team") == ["x"]


def test_the_log_tells_what_was_before(storage: MemoryStorage) -> None:
    first = storage.put(key("a"), b"1")
    storage.put(key("other", resource="secrets"), b"1")
    storage.delete(key("a"), b"last")
    (deletion,) = storage.changes("configmaps", after=first.revision)
    assert (deletion.deleted, deletion.previous, deletion.record.body) == (True, first, b"last")


def test_listeners_hear_every_change_in_order(storage: MemoryStorage) -> None:
    heard: list[Change] = []
    storage.subscribe(heard.append)
    storage.put(key("a"), b"1")
    storage.delete(key("a"), b"1")
    assert [(each.revision, each.deleted) for each in heard] == [(1, False), (2, True)]


def test_a_compaction_forgets_the_past_and_keeps_the_present(storage: MemoryStorage) -> None:
    storage.put(key("a"), b"1")
    storage.put(key("a"), b"2")
    storage.put(key("b"), b"1")
    storage.delete(key("b"), b"1")
    storage.compact(3)
    with pytest.raises(Compacted):
        names(storage, 2)
    with pytest.raises(Compacted):
        storage.changes("configmaps", after=2)
    assert names(storage, 3) == ["a", "b"]
    assert names(storage, 4) == ["a"]
    assert len(storage.changes("configmaps", after=3)) == 1


def test_a_compaction_takes_nothing_from_a_log_that_had_nothing(storage: MemoryStorage) -> None:
    storage.put(key("a"), b"1")
    for name in "bcd":
        storage.put(key(name, resource="secrets"), b"1")
    storage.compact(4)
    assert storage.changes("configmaps", after=1) == []
    with pytest.raises(Compacted):
        storage.changes("secrets", after=1)


def test_the_history_is_bounded(storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "HISTORY_CHANGES_MAX", 10)
    for number in range(50):
        storage.put(key("a"), str(number).encode())
    with pytest.raises(Compacted):
        storage.changes("configmaps", after=1)
    assert 0 < len(storage.changes("configmaps", after=45)) <= 10


def test_large_bodies_shorten_the_history(
    storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "HISTORY_BYTES_MAX", 1_000)
    for _ in range(20):
        storage.put(key("a"), b"x" * 200)
    with pytest.raises(Compacted):
        storage.changes("configmaps", after=1)


def reopened(path: pathlib.Path, work: Callable[[MemoryStorage], None]) -> MemoryStorage:
    storage = sqlite.open(path)
    work(storage)
    storage.close()
    return sqlite.open(path)


def test_a_file_has_everything_when_it_is_opened_again(tmp_path: pathlib.Path) -> None:
    def work(storage: MemoryStorage) -> None:
        storage.put(key("a"), b"1")
        storage.put(key("a"), b"2")
        storage.put(key("b"), b"1")
        storage.delete(key("b"), b"1")

    storage = reopened(tmp_path / "db", work)
    assert [names(storage, at) for at in (3, 4)] == [["a", "b"], ["a"]]
    assert len(storage.changes("configmaps", after=1)) == 3
    storage.close()


def test_a_compacted_file_never_uses_a_revision_twice(tmp_path: pathlib.Path) -> None:
    def work(storage: MemoryStorage) -> None:
        storage.put(key("a"), b"1")
        storage.delete(key("a"), b"1")
        storage.compact(2)

    storage = reopened(tmp_path / "db", work)
    assert storage.put(key("b"), b"1").revision == 3
    with pytest.raises(Compacted):
        storage.changes("configmaps", after=1)
    storage.close()


def test_a_file_is_open_only_once(tmp_path: pathlib.Path) -> None:
    storage = sqlite.open(tmp_path / "db")
    with pytest.raises(sqlite.Locked, match="in use by another process"):
        sqlite.open(tmp_path / "db")
    storage.close()


_WRITER = """
import pathlib, sys
from lading.embedded.kube.storage import sqlite
from lading.embedded.kube.storage.memory import Key
storage = sqlite.open(pathlib.Path(sys.argv[1]))
for number in range(1_000_000):
    print(storage.put(Key("configmaps", "default", f"a-{number}"), b"{}").revision, flush=True)
"""


def test_a_killed_process_loses_no_acknowledged_write(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "db"
    writer = subprocess.Popen([sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    acknowledged = [int(writer.stdout.readline()) for _ in range(WRITES_BEFORE_KILL)]
    os.kill(writer.pid, signal.SIGKILL)
    acknowledged += [int(line) for line in writer.stdout.read().split()[:-1]]
    writer.wait()
    writer.stdout.close()
    storage = sqlite.open(path)
    found = {
        record.revision
        for record in storage.list("configmaps", namespace="", at=storage.revision, after=None)
    }
    storage.close()
    assert set(acknowledged) <= found


def test_only_the_owner_may_read_the_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "api.sqlite"
    sqlite.open(path).close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "api.sqlite"
    path.write_text("something else " * 100)
    with pytest.raises(sqlite.Unusable, match="not a database; choose another path"):
        sqlite.open(path)
    assert path.read_text() == "something else " * 100


def test_a_database_with_damage_inside_is_refused(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "api.sqlite"
    storage = sqlite.open(path)
    storage.put(key("a"), b"x" * 100_000)
    storage.close()
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"?" * 16_384)
    with pytest.raises(sqlite.Unusable, match="malformed; choose another path"):
        sqlite.open(path)


def test_a_change_that_finds_no_room_changes_nothing(tmp_path: pathlib.Path) -> None:
    storage = sqlite.open(tmp_path / "api.sqlite")
    storage.put(key("a"), b"before")
    with files_no_larger_than(64 * 1024), pytest.raises(NotStored, match="could not be stored"):
        storage.put(key("a"), b"x" * 200_000)
    assert names(storage, storage.revision) == ["a"]
    assert storage.put(key("a"), b"after").revision == 2
    storage.close()


async def test_a_write_to_a_full_disk_is_refused(tmp_path: pathlib.Path) -> None:
    cluster = Cluster(sqlite.open(tmp_path / "api.sqlite"))
    large = {**config_map("a"), "data": {"a": "x" * 200_000}}
    with files_no_larger_than(64 * 1024):
        answer = await cluster.call("POST", CONFIG_MAPS, large)
    assert answer.status == 500
    assert "could not be stored" in decoded(answer)["message"]
    await cluster.create(CONFIG_MAPS, config_map("a"))
    await cluster.core.close()
    cluster.storage.close()


@contextlib.contextmanager
def files_no_larger_than(size_bytes: int) -> Iterator[None]:
    """For this process; a larger write is refused by the kernel, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
