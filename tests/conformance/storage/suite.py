"""What every implementation of the `Storage` port does; run on each kind of storage."""

from datetime import UTC, datetime, timedelta

import pytest

from lading.ports import storage as storages
from lading.ports.storage import OnlyNew, OnlyVersion, Storage


async def paths(storage: Storage, prefix: str) -> list[str]:
    return sorted([one.path async for page in storage.pages(prefix) for one in page])


BAD_PATHS = ["", "/", "/etc", "a/", "a//b", ".", "..", "a/..", "../a", "a/../../b", "a/./b", "a\0b"]


class StorageSuite:
    has_versions = True
    empty_folders = 0
    """Of a folder in an empty folder, when both are old enough."""

    async def test_a_list_has_every_object_below_its_folder(self, storage: Storage) -> None:
        for path in ("a/x/1", "a/x/2", "a/xy", "b/3"):
            await storage.put(path, b"four")
        assert await paths(storage, "a/x") == ["a/x/1", "a/x/2"]
        assert await paths(storage, "a") == ["a/x/1", "a/x/2", "a/xy"]
        assert await paths(storage, "nothing") == []

    async def test_a_list_of_more_than_a_page_is_whole(self, storage: Storage) -> None:
        expected = sorted(f"many/{number}" for number in range(1005))
        for path in expected:
            await storage.put(path, b"")
        assert await paths(storage, "many") == expected
        assert await storage.delete(expected) == {}
        assert await paths(storage, "many") == []

    async def test_an_object_has_size_and_time(self, storage: Storage) -> None:
        await storage.put("a/x", b"four")
        found = await storage.head("a/x")
        assert found is not None
        assert (found.path, found.size_bytes) == ("a/x", 4)
        assert abs(found.modified_at - datetime.now(UTC)) < timedelta(minutes=1)

    async def test_what_is_not_there(self, storage: Storage) -> None:
        assert await storage.head("a/x") is None
        with pytest.raises(storages.NotFound, match="a/x"):
            await storage.read("a/x", bytes_max=10)
        with pytest.raises(storages.NotFound):
            await storage.move("a/x", "a/y")

    async def test_reading_stops_at_the_limit(self, storage: Storage) -> None:
        await storage.put("a/x", b"four")
        assert await storage.read("a/x", bytes_max=4) == b"four"
        with pytest.raises(storages.TooLarge):
            await storage.read("a/x", bytes_max=3)

    async def test_only_one_creates_an_object_that_must_be_new(self, storage: Storage) -> None:
        await storage.put("lock", b"first", condition=OnlyNew())
        with pytest.raises(storages.AlreadyExists):
            await storage.put("lock", b"second", condition=OnlyNew())
        assert await storage.read("lock", bytes_max=10) == b"first"

    async def test_a_version_is_replaced_once(self, storage: Storage) -> None:
        await storage.put("state", b"1")
        found = await storage.head("state")
        assert found is not None
        if not self.has_versions:
            with pytest.raises(storages.Unsupported):
                await storage.put("state", b"2", condition=OnlyVersion(found.version))
            return
        await storage.put("state", b"2", condition=OnlyVersion(found.version))
        with pytest.raises(storages.Changed):
            await storage.put("state", b"3", condition=OnlyVersion(found.version))
        assert await storage.read("state", bytes_max=10) == b"2"

    async def test_moving(self, storage: Storage) -> None:
        await storage.put("a", b"content")
        await storage.move("a", "c/moved")
        assert await storage.head("a") is None
        assert await storage.read("c/moved", bytes_max=10) == b"content"

    async def test_deleting_what_is_not_there_is_no_failure(self, storage: Storage) -> None:
        await storage.put("a/x", b"")
        assert await storage.delete(["a/gone", "a/x", "a/gone too"]) == {}
        assert await paths(storage, "a") == []
        assert await storage.delete([]) == {}

    async def test_folders_that_are_empty_and_old_go(self, storage: Storage) -> None:
        await storage.put("top/old/deep/x", b"")
        await storage.put("top/used/y", b"")
        assert await storage.delete(["top/old/deep/x"]) == {}
        past = datetime.now(UTC) - timedelta(hours=1)
        assert await storage.remove_empty_folders("top", before=past) == 0
        soon = datetime.now(UTC) + timedelta(hours=1)
        assert await storage.remove_empty_folders("top", before=soon) == self.empty_folders
        assert await storage.remove_empty_folders("nothing", before=soon) == 0
        assert await paths(storage, "top") == ["top/used/y"]

    @pytest.mark.parametrize("path", BAD_PATHS)
    async def test_a_path_that_may_lead_out_of_the_root_is_refused(
        self, storage: Storage, path: str
    ) -> None:
        await storage.put("a/x", b"content")
        refused = pytest.raises(storages.BadPath, match="is no path in a storage")
        with refused:
            await storage.head(path)
        with refused:
            await storage.read(path, bytes_max=1)
        for condition in (None, OnlyNew()):
            with refused:
                await storage.put(path, b"", condition=condition)
        for source, target in ((path, "b"), ("a/x", path)):
            with refused:
                await storage.move(source, target)
        with refused:
            [page async for page in storage.pages(path)]
        with refused:
            await storage.remove_empty_folders(path, before=datetime.now(UTC))
        failures = await storage.delete([path, "a/gone"])
        assert {one: type(error) for one, error in failures.items()} == {path: storages.BadPath}
        assert await storage.read("a/x", bytes_max=10) == b"content"
