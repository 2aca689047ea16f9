"""The `Storage` port on the files of a folder."""

import errno
import os
import shutil
import socket
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


async def test_the_root_may_be_a_link(tmp_path: Path) -> None:
    """As the administrator names it; it is resolved once."""
    (tmp_path / "volume/a").mkdir(parents=True)
    (tmp_path / "volume/a/x").write_bytes(b"content")
    (tmp_path / "elsewhere/a").mkdir(parents=True)
    root = tmp_path / "root"
    root.symlink_to("volume")
    storage = FileStorage(root, name="file:///registry")
    root.unlink()
    root.symlink_to("elsewhere")
    assert await paths(storage, "a") == ["a/x"]
    assert await storage.delete(["a/x"]) == {}
    assert os.listdir(tmp_path / "volume/a") == []


LINKED = ["top", "top/a", "top/a/b"]


@pytest.fixture
def outside(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file and an empty folder that no storage has to do with."""
    folder = tmp_path_factory.mktemp("outside")
    for place in ("a/b", "b", "."):
        (folder / place).mkdir(parents=True, exist_ok=True)
        (folder / place / "file").write_bytes(b"precious")
        (folder / place / "empty").mkdir()
    return folder


def bind(listening: socket.socket, path: Path) -> None:
    """By a short path: the address of a socket has at most 107 characters."""
    listening.bind(os.path.relpath(path))


def contents(folder: Path) -> set[str]:
    return {str(one.relative_to(folder)) for one in folder.rglob("*")}


@pytest.mark.parametrize("linked", LINKED)
async def test_nothing_is_read_written_moved_or_deleted_through_a_link(
    on_files: FileStorage, tmp_path: Path, outside: Path, linked: str
) -> None:
    (tmp_path / linked).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / linked).symlink_to(outside)
    await on_files.put("other", b"content")
    before = contents(outside)
    path = "top/a/b/file"
    refused = pytest.raises(storages.NotAFile, match=f"{linked} is a symbolic link.*mount --bind")
    with refused:
        await on_files.head(path)
    with refused:
        await on_files.read(path, bytes_max=100)
    for condition in (None, OnlyNew()):
        with refused:
            await on_files.put(path, b"changed", condition=condition)
    with refused:
        await on_files.move(path, "stolen")
    with refused:
        await on_files.move("other", path)
    with refused:
        [page async for page in on_files.pages("top/a/b")]
    (failure,) = (await on_files.delete([path])).values()
    assert isinstance(failure, storages.NotAFile)
    soon = datetime.now(UTC) + timedelta(hours=1)
    with refused:
        await on_files.remove_empty_folders("top/a/b", before=soon)
    assert contents(outside) == before
    assert (outside / "file").read_bytes() == b"precious"


async def test_a_list_shows_links_and_special_files_as_what_they_are(
    on_files: FileStorage, tmp_path: Path, outside: Path
) -> None:
    await on_files.put("a/x", b"")
    (tmp_path / "a/folder").symlink_to(outside)
    (tmp_path / "a/file").symlink_to(outside / "file")
    (tmp_path / "a/nowhere").symlink_to(tmp_path / "unmounted")
    (tmp_path / "a/up").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "a/pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        bind(listening, tmp_path / "a/socket")
        found = {one.path: one.special async for page in on_files.pages("a") for one in page}
    link = "a symbolic link"
    assert found == {
        "a/x": "", "a/folder": link, "a/file": link, "a/nowhere": link, "a/up": link,
        "a/pipe": "a pipe", "a/socket": "a socket",
    }  # fmt: skip


async def test_a_list_shows_a_folder_that_is_too_deep_and_does_not_enter_it(
    on_files: FileStorage, tmp_path: Path
) -> None:
    """Of 10,000 levels with long names, the paths alone would take 12 GB."""
    below = "/".join(["d"] * file_storage.DEPTH_MAX)
    (tmp_path / "top" / below / "file").mkdir(parents=True)
    await on_files.put("top/d/x", b"")
    found = {one.path: one.special async for page in on_files.pages("top") for one in page}
    assert found == {"top/d/x": "", f"top/{below}": "a folder below 256 others"}
    later = datetime.now(UTC) + timedelta(hours=1)
    assert await on_files.remove_empty_folders("top", before=later) == 0


async def test_a_folder_that_becomes_a_link_during_a_list_does_not_lead_out(
    on_files: FileStorage, tmp_path: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_storage, "PAGE_OBJECTS", 1)
    for path in ("a/1/file", "a/2/file", "a/3/file"):
        await on_files.put(path, b"")
    pages = on_files.pages("a")
    (first,) = await anext(pages)
    swapped = {"a/1/file", "a/2/file", "a/3/file"} - {first.path}
    for path in swapped:
        shutil.rmtree((tmp_path / path).parent)
        (tmp_path / path).parent.symlink_to(outside)
    with pytest.raises(storages.NotAFile, match="is a symbolic link"):
        [page async for page in pages]


async def test_a_folder_that_becomes_a_link_before_its_files_are_deleted_does_not_lead_out(
    on_files: FileStorage, tmp_path: Path, outside: Path
) -> None:
    for path in ("a/b/file", "a/c/file"):
        await on_files.put(path, b"")
    listed = await paths(on_files, "a")
    (tmp_path / "a/b/file").unlink()
    (tmp_path / "a/b").rmdir()
    (tmp_path / "a/b").symlink_to(outside)
    before = contents(outside)
    assert list(await on_files.delete(listed)) == ["a/b/file"]
    later = datetime.now(UTC) + timedelta(hours=1)
    assert await on_files.remove_empty_folders("a", before=later) == 1
    assert contents(outside) == before
    assert os.listdir(tmp_path / "a") == ["b"]


async def test_a_folder_that_becomes_a_link_while_files_are_deleted_does_not_lead_out(
    on_files: FileStorage, tmp_path: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the moment it is opened and the moment a name in it is removed."""
    await on_files.put("a/b/file", b"")
    before = contents(outside)
    unlink = os.unlink

    def swap(name: str, *, dir_fd: int) -> None:
        (tmp_path / "a/b").rename(tmp_path / "a/moved")
        (tmp_path / "a/b").symlink_to(outside)
        unlink(name, dir_fd=dir_fd)

    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", swap)
        assert await on_files.delete(["a/b/file"]) == {}
    assert contents(outside) == before
    assert os.listdir(tmp_path / "a/moved") == []


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


async def test_what_is_gone_is_no_error_of_a_look(on_files: FileStorage) -> None:
    """As the lock of a sweep that ends while another one looks at it."""
    await on_files.put("a", b"")
    assert await on_files.head("a") is not None
    await on_files.delete(["a"])
    assert await on_files.head("a") is None
    assert await on_files.head("no/such/folder") is None


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

    def refuse(folder: int) -> object:
        if os.readlink(f"/proc/self/fd/{folder}").endswith(f"/{refused}"):
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

    def refuse(name: str, *, dir_fd: int) -> None:
        if name == "a":
            raise PermissionError(errno.EPERM, "Operation not permitted", name)
        unlink(name, dir_fd=dir_fd)

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
async def test_a_special_file_is_refused_at_once(on_files: FileStorage, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as listening:
        bind(listening, tmp_path / "socket")
    for name, kind in (("pipe", "a pipe"), ("link", "a symbolic link"), ("socket", "a socket")):
        refused = pytest.raises(storages.NotAFile, match=f"{name} is {kind}")
        with refused:
            await on_files.read(name, bytes_max=10)
        with refused:
            await on_files.head(name)
        with refused:
            await on_files.move(name, "aside")
        with refused:
            await on_files.read(f"{name}/below", bytes_max=10)


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
    def refuse(_name: str, _target: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    await on_files.put("a/data", b"content")
    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(storages.Unavailable, match="aside must be on the same file system"):
        await on_files.move("a/data", "aside/data")
