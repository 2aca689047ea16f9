"""The `Storage` port on the files of a folder."""

import errno
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lading.adapters.storage import file_storage
from lading.adapters.storage.file_storage import FileStorage
from lading.ports import storage as storages
from lading.ports.storage import OnlyNew, Storage
from tests.conformance.storage.suite import StorageSuite, paths

PAST = (1_000_000_000, 1_000_000_000)


@pytest.fixture
def on_files(tmp_path: Path) -> FileStorage:
    return FileStorage(tmp_path, name="file:///registry")


class TestFiles(StorageSuite):
    has_versions = False
    empty_folders = 2

    @pytest.fixture
    def storage(self, on_files: FileStorage) -> Storage:
        return on_files


async def test_the_time_of_a_file_is_that_of_the_file_system(
    on_files: FileStorage, tmp_path: Path
) -> None:
    (tmp_path / "a").write_bytes(b"")
    os.utime(tmp_path / "a", PAST)
    found = await on_files.head("a")
    assert found is not None
    assert found.modified_at == datetime.fromtimestamp(PAST[0], tz=UTC)


async def test_a_folder_is_no_object(on_files: FileStorage) -> None:
    await on_files.put("a/b", b"")
    assert await on_files.head("a") is None
    with pytest.raises(storages.NotFound):
        await on_files.read("a", bytes_max=1)
    assert await on_files.head("a/b/c") is None


async def test_linked_folders_are_followed(on_files: FileStorage, tmp_path: Path) -> None:
    """The root directory of a registry may lead to another volume."""
    await on_files.put("volume/x", b"")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "linked").symlink_to(tmp_path / "volume")
    assert await paths(on_files, "a") == ["a/linked/x"]


async def test_a_link_that_leads_nowhere_is_an_error(on_files: FileStorage, tmp_path: Path) -> None:
    """Repositories on a volume that is not mounted would seem to need nothing."""
    await on_files.put("a/x", b"")
    (tmp_path / "a" / "linked").symlink_to(tmp_path / "unmounted")
    with pytest.raises(storages.Unavailable, match="a/linked is a link to what does not exist"):
        [page async for page in on_files.pages("a")]


async def test_what_vanishes_during_a_list_is_not_in_it(
    on_files: FileStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_storage, "PAGE_OBJECTS", 1)
    for path in ("a/1/x", "a/2/x", "a/3/x"):
        await on_files.put(path, b"")
    pages = on_files.pages("a")
    (first,) = await anext(pages)
    left = {"a/1/x", "a/2/x", "a/3/x"} - {first.path}
    gone = left.pop()
    shutil.rmtree((tmp_path / gone).parent)
    assert {one.path async for page in pages for one in page} == left


async def test_a_folder_that_is_replaced_during_a_list_is_an_error(
    on_files: FileStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a volume that is unmounted, the rest would seem to be gone."""
    monkeypatch.setattr(file_storage, "PAGE_OBJECTS", 1)
    for path in ("a/1/x", "a/2/x"):
        await on_files.put(path, b"")
    pages = on_files.pages("a")
    await anext(pages)
    (tmp_path / "a").rename(tmp_path / "unmounted")
    with pytest.raises(storages.Unavailable, match="replaced or unmounted"):
        [page async for page in pages]


async def test_a_folder_that_cannot_be_listed_is_an_error(
    on_files: FileStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    await on_files.put("a/x", b"")

    def refuse(folder: str) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", folder)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(storages.Denied, match="file:///registry: a: Permission denied"):
        [page async for page in on_files.pages("a")]


async def test_after_a_list_only_folders_that_were_empty_and_old_go(
    on_files: FileStorage, tmp_path: Path
) -> None:
    for name in ("old", "young", "used", "filled"):
        (tmp_path / "top" / name).mkdir(parents=True)
    await on_files.put("top/used/x", b"")
    for name in ("old", "used", "filled"):
        os.utime(tmp_path / "top" / name, PAST)
    assert await paths(on_files, "top") == ["top/used/x"]
    await on_files.put("top/filled/x", b"")
    await on_files.delete(["top/used/x"])
    hour_ago = datetime.now(UTC) - timedelta(hours=1)
    assert await on_files.remove_empty_folders("top", before=hour_ago) == 1
    assert sorted(os.listdir(tmp_path / "top")) == ["filled", "used", "young"]
    later = datetime.now(UTC) + timedelta(hours=1)
    assert await on_files.remove_empty_folders("top", before=later) == 2
    assert os.listdir(tmp_path / "top") == ["filled"]


async def test_a_file_that_cannot_be_deleted_is_named_and_the_others_go(
    on_files: FileStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("a", "b"):
        await on_files.put(path, b"")
    unlink = os.unlink

    def refuse(path: str) -> None:
        if path.endswith("/a"):
            raise PermissionError(errno.EPERM, "Operation not permitted", path)
        unlink(path)

    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", refuse)
        failures = await on_files.delete(["a", "b"])
    assert {path: type(error) for path, error in failures.items()} == {"a": storages.Denied}
    assert os.listdir(tmp_path) == ["a"]


async def test_a_full_disk_leaves_nothing_behind(
    on_files: FileStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    (tmp_path / "a").mkdir()
    for condition in (None, OnlyNew()):
        with pytest.raises(storages.Full, match="a/x: No space left"):
            await on_files.put("a/x", b"content", condition=condition)
    assert os.listdir(tmp_path / "a") == []
