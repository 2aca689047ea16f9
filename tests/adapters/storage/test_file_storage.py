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
    with pytest.raises(
        storages.Unavailable, match="a/linked is a link to a path that does not exist"
    ):
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


async def test_what_vanishes_right_after_a_look_is_no_error(
    on_files: FileStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the lock of a sweep that ends while another one looks at it."""
    await on_files.put("a", b"")
    look = Path.stat

    def look_and_remove(path: Path, **more: bool) -> os.stat_result:
        found = look(path, **more)
        path.unlink()
        return found

    monkeypatch.setattr(Path, "stat", look_and_remove)
    assert await on_files.head("a") is not None
    assert await on_files.head("a") is None


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


@pytest.mark.parametrize("refused", ["a", "a/b"])
async def test_a_folder_that_cannot_be_listed_is_an_error(
    on_files: FileStorage, refused: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await on_files.put("a/b/x", b"")
    whole = os.scandir

    def refuse(folder: str) -> object:
        if str(folder).endswith(refused):
            raise PermissionError(errno.EACCES, "Permission denied", folder)
        return whole(folder)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(storages.Denied, match=f"file:///registry: {refused}: Permission denied"):
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


@pytest.mark.parametrize("is_listed", [False, True])
async def test_the_folder_that_is_cleaned_stays_itself(
    on_files: FileStorage, tmp_path: Path, is_listed: bool
) -> None:
    """A registry would not find its root directory."""
    (tmp_path / "top").mkdir()
    os.utime(tmp_path / "top", PAST)
    if is_listed:
        assert await paths(on_files, "top") == []
    hour_ago = datetime.now(UTC) - timedelta(hours=1)
    assert await on_files.remove_empty_folders("top", before=hour_ago) == 0
    assert (tmp_path / "top").is_dir()


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


async def test_a_link_to_a_folder_above_it_is_an_error(
    on_files: FileStorage, tmp_path: Path
) -> None:
    await on_files.put("a/b/x", b"")
    (tmp_path / "a/b/up").symlink_to(tmp_path / "a")
    with pytest.raises(storages.Unavailable, match="up is a link to a folder above it"):
        [page async for page in on_files.pages("a")]


async def test_a_link_to_a_folder_beside_it_is_followed(
    on_files: FileStorage, tmp_path: Path
) -> None:
    await on_files.put("a/b/x", b"")
    (tmp_path / "a/bc").symlink_to(tmp_path / "a/b")
    assert await paths(on_files, "a") == ["a/b/x", "a/bc/x"]


@pytest.mark.parametrize(
    ("seconds", "year"), [(-1, 1969), (2**33, 2242), (2**40, 9999), (-(2**40), 1)]
)
async def test_any_time_of_a_file_is_a_time(
    on_files: FileStorage, tmp_path: Path, seconds: int, year: int
) -> None:
    await on_files.put("a/x", b"")
    os.utime(tmp_path / "a/x", (0, seconds))
    if (tmp_path / "a/x").stat().st_mtime != seconds:
        pytest.skip("this file system has no such time")
    ((found,),) = [page async for page in on_files.pages("a")]
    assert found.modified_at.year == year


async def test_a_file_in_the_place_of_a_folder_has_nothing_in_it(on_files: FileStorage) -> None:
    await on_files.put("a", b"")
    assert await paths(on_files, "a") == []
    assert await paths(on_files, "a/b") == []


@pytest.mark.timeout(30)
async def test_a_pipe_in_the_place_of_a_file_is_empty(
    on_files: FileStorage, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert await on_files.read("pipe", bytes_max=10) == b""


async def test_a_symbolic_link_is_not_moved(on_files: FileStorage, tmp_path: Path) -> None:
    """In another folder it may lead nowhere, and would end every list."""
    await on_files.put("a/data", b"content")
    (tmp_path / "a/link").symlink_to("data")
    with pytest.raises(storages.Unavailable, match="symbolic link"):
        await on_files.move("a/link", "aside/link")
    assert await on_files.read("a/link", bytes_max=10) == b"content"


async def test_a_folder_in_the_place_of_a_file_is_named(
    on_files: FileStorage, tmp_path: Path
) -> None:
    await on_files.put("a/data", b"content")
    (tmp_path / "b/data").mkdir(parents=True)
    with pytest.raises(storages.Unavailable, match="b/data is a folder; remove it"):
        await on_files.move("a/data", "b/data")
    assert await on_files.read("a/data", bytes_max=10) == b"content"


@pytest.mark.parametrize("condition", [None, OnlyNew()])
async def test_a_file_in_the_place_of_a_folder_is_named(
    on_files: FileStorage, condition: OnlyNew | None
) -> None:
    """It is no object that exists already, which a lock would take for another sweep."""
    await on_files.put("lading", b"")
    with pytest.raises(storages.Unavailable, match="lading is not a folder; remove it"):
        await on_files.put("lading/sweep/lock", b"", condition=condition)


async def test_another_file_system_is_named(
    on_files: FileStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_self: Path, target: Path) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    await on_files.put("a/data", b"content")
    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(storages.Unavailable, match="aside must be on the same file system"):
        await on_files.move("a/data", "aside/data")
