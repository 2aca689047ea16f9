"""Storage as a source: history, untagged manifests, times, and a registry that is pruned by it."""

import os
import shutil
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from obstore.store import LocalStore

from lading.adapters.storage import object_storage
from lading.adapters.storage.object_storage import ObjectStorage
from lading.kernel.digests import Digest
from lading.ports import storage as storages
from lading.ports.registry import Manifest
from lading.ports.storage import OnlyNew, OnlyVersion, StoredObject
from lading.pruning.engine.decisions.policy import NO_POLICY
from lading.pruning.engine.effects.outcomes import Result
from lading.pruning.engine.inventory import observe_storage, storage_clock
from lading.pruning.engine.inventory.manifest_table import ManifestTable
from lading.pruning.engine.inventory.observe_registry import Scope
from lading.pruning.engine.inventory.observe_storage import NoRegistry
from lading.pruning.engine.types import AgeFrom, Inventory, PruneReason, Settings
from tests.adapters.storage.s3 import Bucket
from tests.pruning import pruned_kinds
from tests.pruning.worlds import World

HOUR_SECONDS = 3600


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "registry"


@pytest.fixture
def stored(world: World, root: Path) -> World:
    """The embedded registry, pruned by its storage."""
    root.mkdir(exist_ok=True)
    world.storage = object_storage.open_storage(f"file://{root}", environment={})
    world.policy = NO_POLICY
    return world


async def read(world: World, repositories: tuple[str, ...] = ()) -> Inventory:
    assert world.storage is not None
    found = Scope(registry="r", repositories=repositories)
    return await observe_storage.inventory(world.storage, found, known=ManifestTable())


def age(root: Path, pattern: str, hours: float) -> None:
    """Moves the times of links into the past, or into the future."""
    paths = list((root / "docker/registry/v2/repositories").glob(pattern))
    assert paths, pattern
    for path in paths:
        time = path.stat().st_mtime - hours * HOUR_SECONDS
        os.utime(path, (time, time))


def times(root: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in root.rglob("*")}


def index_of(tag: str, manifest: Manifest) -> str:
    return f"a/_manifests/tags/{tag}/index/sha256/{manifest.digest.encoded}/link"


def revision_of(manifest: Manifest) -> str:
    return f"a/_manifests/revisions/sha256/{manifest.digest.encoded}/link"


async def test_the_history_of_a_tag_is_newest_first_with_its_times(
    stored: World, root: Path
) -> None:
    first, second, third = [
        await stored.shelf.image("a:v1", layers=[str(number).encode()]) for number in range(3)
    ]
    age(root, index_of("v1", first), 5)
    age(root, index_of("v1", second), 9)
    inventory = await read(stored)
    (tag,) = inventory.repositories["a"].tags
    assert [one.digest for one in tag.revisions] == [
        str(one.digest) for one in (third, first, second)
    ]
    dates = [one.pushed_at for one in tag.revisions if one.pushed_at is not None]
    assert len(dates) == 3
    assert dates == sorted(dates, reverse=True)


async def test_a_tag_that_is_moved_back_is_young_again(stored: World, root: Path) -> None:
    first = await stored.shelf.image("a:v1", layers=[b"1"])
    age(root, index_of("v1", first), 9)
    age(root, revision_of(first), 9)
    await stored.shelf.image("a:v1", layers=[b"2"])
    await stored.registry.push_manifest(stored.shelf.at("a:v1"), first)
    (tag,) = (await read(stored)).repositories["a"].tags
    assert tag.digest == str(first.digest)
    newest, before = (one.pushed_at for one in tag.revisions)
    assert newest is not None
    assert before is not None
    assert newest >= before


async def test_a_revision_that_was_deleted_is_no_history(stored: World, root: Path) -> None:
    """A registry leaves its link in the index of the tag."""
    first = await stored.shelf.image("a:v1", layers=[b"1"])
    second = await stored.shelf.image("a:v1", layers=[b"2"])
    repositories = root / "docker/registry/v2/repositories"
    (repositories / revision_of(first)).unlink()
    (tag,) = (await read(stored)).repositories["a"].tags
    assert [one.digest for one in tag.revisions] == [str(second.digest)]


async def test_a_tag_that_moved_back_is_as_old_as_its_last_move(stored: World, root: Path) -> None:
    first = await stored.shelf.image("a:v1")
    await stored.shelf.image("a:v1", layers=[b"2"])
    await stored.registry.push_manifest(stored.shelf.at("a:v1"), first)
    age(root, "a/_manifests/tags/v1/index/*/*/link", 5)
    (tag,) = (await read(stored)).repositories["a"].tags
    assert (tag.digest, len(tag.revisions)) == (str(first.digest), 2)
    assert tag.pushed_at is not None
    assert tag.previous[0].pushed_at is not None
    assert tag.pushed_at - tag.previous[0].pushed_at > timedelta(hours=4)


async def test_a_manifest_without_its_data_is_not_there(stored: World, root: Path) -> None:
    image = await stored.shelf.image("a:v1")
    await stored.shelf.image("a:v2", layers=[b"2"])
    (root / observe_storage.data_path(str(image.digest))).unlink()
    inventory = await read(stored)
    assert str(image.digest) not in inventory.repositories["a"].manifests
    assert len(inventory.repositories["a"].manifests) == 1


@pytest.mark.parametrize("content", [b"garbage", b"{}"])
async def test_a_manifest_that_is_not_what_its_digest_says_keeps_its_repository(
    stored: World, root: Path, content: bytes
) -> None:
    image = await stored.shelf.image("a:v1")
    await stored.shelf.image("a:v1", layers=[b"2"])
    (root / observe_storage.data_path(str(image.digest))).write_bytes(content)
    stored.settings = Settings(keep_younger_than=timedelta(0), keep_tag_revisions=0)
    applied = await stored.pruner().apply()
    assert applied.outcomes == ()
    verdicts = {one.reason for one in applied.plan.tag_verdicts.values()}
    assert verdicts == {PruneReason.UNREADABLE}


async def test_a_link_that_is_no_digest_keeps_its_repository(stored: World, root: Path) -> None:
    await stored.shelf.image("a:v1")
    await stored.shelf.image("a:v2", layers=[b"2"])
    (root / observe_storage.tag_link("a", "v2")).write_text("nothing")
    inventory = await read(stored)
    assert inventory.repositories["a"].opaque_digests == ("tag v2",)
    assert inventory.manifests.digest_count == 6, "each image has a manifest and two blobs"


async def test_a_link_of_another_algorithm_names_its_data(stored: World, root: Path) -> None:
    image = await stored.shelf.image("a:v1")
    other = Digest.of(image.content, "sha512")
    link = root / observe_storage.revision_link("a", str(other))
    link.parent.mkdir(parents=True)
    link.write_text(str(image.digest))
    inventory = await read(stored)
    assert inventory.manifests[str(other)].blobs == inventory.manifests[str(image.digest)].blobs
    assert inventory.repositories["a"].opaque_digests == ()


async def test_a_folder_without_repositories_is_refused(stored: World, tmp_path: Path) -> None:
    await stored.shelf.image("a:v1")
    (tmp_path / "empty").mkdir()
    stored.storage = object_storage.open_storage(f"file://{tmp_path / 'empty'}", environment={})
    with pytest.raises(NoRegistry, match="root directory"):
        await stored.pruner().observe()


async def test_a_registry_with_a_database_is_refused(stored: World, root: Path) -> None:
    await stored.shelf.image("a:v1")
    mark = root / observe_storage.DATABASE_IN_USE
    mark.parent.mkdir(parents=True)
    mark.touch()
    with pytest.raises(NoRegistry, match="database"):
        await stored.pruner().observe()


async def test_the_storage_of_another_registry_deletes_nothing(
    stored: World, root: Path, tmp_path: Path
) -> None:
    first = await stored.shelf.image("a:v1", layers=[b"1"])
    await stored.shelf.image("a:v1", layers=[b"2"])
    shutil.copytree(root, tmp_path / "copy")
    await stored.registry.push_manifest(stored.shelf.at("a:elsewhere"), first)
    stored.storage = object_storage.open_storage(f"file://{tmp_path / 'copy'}", environment={})
    stored.settings = Settings(keep_younger_than=timedelta(0), keep_tag_revisions=1)
    with pytest.raises(NoRegistry, match="a:elsewhere"):
        await stored.pruner().apply()
    assert await stored.shelf.pullable("a:elsewhere")


async def test_only_the_named_repositories_are_read(stored: World) -> None:
    for name in ("a", "a/b", "c"):
        await stored.shelf.image(f"{name}:v1", layers=[name.encode()])
    assert set((await read(stored)).repositories) == {"a", "a/b", "c"}
    assert set((await read(stored, repositories=("a",))).repositories) == {"a"}


class TestPruning:
    """Each on the embedded registry, from its files to what can be pulled afterwards."""

    async def history(self, world: World, count: int) -> list[Manifest]:
        return [
            await world.shelf.image("a:v1", layers=[f"layer {number}".encode()])
            for number in range(count)
        ]

    async def test_revisions_beyond_the_number_that_stays_go(self, stored: World) -> None:
        """Z05 on the history of a tag: the newest 3 of 5 stay."""
        images = await self.history(stored, 5)
        applied = await stored.pruner().apply()
        assert {one.result for one in applied.outcomes} == {Result.DELETED}
        assert {one.line.digest for one in applied.outcomes} == {
            str(one.digest) for one in images[:2]
        }
        assert {one.line.reason for one in applied.outcomes} == {PruneReason.OLD_REVISION}
        for image in images[2:]:
            assert await stored.shelf.pullable(f"a@{image.digest}")
        assert await stored.shelf.tags("a") == {"v1"}

    async def test_an_old_revision_that_a_pod_runs_stays(self, stored: World) -> None:
        images = await self.history(stored, 5)
        await stored.run_pod(f"registry.test/a@{images[0].digest}")
        applied = await stored.pruner().apply()
        assert [one.line.digest for one in applied.outcomes] == [str(images[1].digest)]

    async def test_what_was_pruned_can_be_restored(self, stored: World) -> None:
        images = await self.history(stored, 5)
        pruner = stored.pruner()
        await pruner.apply()
        for place, record in await pruner.records():
            await pruner.restore(place, record)
        for image in images:
            assert await stored.shelf.pullable(f"a@{image.digest}")

    async def test_young_revisions_and_untagged_manifests_stay(
        self, stored: World, root: Path
    ) -> None:
        stored.settings = Settings(keep_tag_revisions=0)
        first, second, _ = await self.history(stored, 3)
        age(root, index_of("v1", first), 2)
        age(root, revision_of(first), 2)
        applied = await stored.pruner().apply()
        assert [one.line.digest for one in applied.outcomes] == [str(first.digest)]
        assert await stored.shelf.pullable(f"a@{second.digest}")

    async def test_a_revision_is_as_young_as_its_tag(self, stored: World, root: Path) -> None:
        stored.settings = Settings(keep_tag_revisions=0)
        first, _ = await self.history(stored, 2)
        age(root, revision_of(first), 2)
        assert (await stored.pruner().apply()).outcomes == ()

    async def test_only_the_given_namespace_is_pruned(self, stored: World) -> None:
        await self.history(stored, 5)
        await stored.shelf.image("b:old")
        await stored.registry.delete(stored.shelf.at("b:old"))
        stored.settings = Settings(keep_younger_than=timedelta(0), namespace="other")
        assert (await stored.pruner().apply()).outcomes == ()

    async def test_a_push_by_digest_makes_an_old_revision_young(
        self, stored: World, root: Path
    ) -> None:
        stored.settings = Settings(keep_tag_revisions=0)
        first, _ = await self.history(stored, 2)
        age(root, index_of("v1", first), 2)
        age(root, revision_of(first), 2)
        await stored.registry.push_manifest(stored.shelf.at(f"a@{first.digest}"), first)
        assert (await stored.pruner().apply()).outcomes == ()

    async def test_pushed_a_minute_ago_with_created_1970_stays(self, stored: World) -> None:
        stored.settings = Settings(keep_tag_revisions=0)
        await self.history(stored, 2)
        assert (await stored.pruner().apply()).outcomes == ()

    async def test_z01_nothing_goes_where_everything_is_tagged(self, stored: World) -> None:
        stored.settings = Settings(keep_younger_than=timedelta(0), keep_tag_revisions=0)
        tags = await pruned_kinds.push_all(stored.shelf, "team/app")
        assert (await stored.pruner().apply()).outcomes == ()
        await pruned_kinds.check_all(stored, "team/app", tags)

    async def test_z02_an_untagged_manifest_goes_and_a_tagged_one_stays(
        self, stored: World
    ) -> None:
        kept = await stored.shelf.image("a:keep", layers=[b"1"])
        gone = await stored.shelf.image("a:old", layers=[b"2"])
        await stored.registry.delete(stored.shelf.at("a:old"))
        applied = await stored.pruner().apply()
        assert [one.line.digest for one in applied.outcomes] == [str(gone.digest)]
        assert await stored.shelf.pullable(f"a@{kept.digest}")

    async def test_z04_a_dry_run_changes_no_file(self, stored: World, root: Path) -> None:
        await self.history(stored, 5)
        before = times(root)
        pruner = stored.pruner()
        plan = pruner.plan(await pruner.observe())
        assert len(plan.deletions) == 2
        assert times(root) == before

    async def test_z16_the_repository_stays_when_its_last_image_is_gone(
        self, stored: World, root: Path
    ) -> None:
        """Folders are left alone: an upload may be about to write into one."""
        await stored.shelf.image("a:old")
        await stored.registry.delete(stored.shelf.at("a:old"))
        upload = root / "docker/registry/v2/repositories/a/_uploads/1/data"
        upload.parent.mkdir(parents=True)
        upload.write_bytes(b"half a layer")
        applied = await stored.pruner().apply()
        assert [one.result for one in applied.outcomes] == [Result.DELETED]
        assert upload.read_bytes() == b"half a layer"

    async def test_an_untagged_chart_stays_without_a_policy_for_its_type(
        self, stored: World
    ) -> None:
        await stored.shelf.image("a:chart", artifactType="application/vnd.example.chart")
        await stored.registry.delete(stored.shelf.at("a:chart"))
        applied = await stored.pruner().apply()
        assert applied.outcomes == ()
        reasons = {one.reason for one in applied.plan.manifest_verdicts.values()}
        assert reasons == {PruneReason.ARTIFACT}

    async def test_a_signature_stays_and_goes_with_its_untagged_subject(
        self, stored: World
    ) -> None:
        image = await stored.shelf.image("a:old", layers=[b"1"])
        subject = stored.shelf.entry(image.digest, len(image.content), image.media_type)
        kind = {"artifactType": "application/vnd.example.signature", "subject": subject}
        signature = await stored.shelf.image("a:tmp", layers=[b"signature"], **kind)
        hexadecimal = image.digest.encoded
        by_tag = await stored.shelf.image(f"a:sha256-{hexadecimal}.sig", layers=[b"by tag"])
        await stored.registry.delete(stored.shelf.at("a:tmp"))
        assert (await stored.pruner().apply()).outcomes == ()
        await stored.registry.delete(stored.shelf.at("a:old"))
        applied = await stored.pruner().apply()
        assert {one.line.digest for one in applied.outcomes} == {
            str(one.digest) for one in (image, signature, by_tag)
        }

    async def test_age_from_created_reads_the_configuration(
        self, stored: World, root: Path
    ) -> None:
        stored.settings = Settings(keep_tag_revisions=0, age_from=AgeFrom.CREATED)
        first, _ = await self.history(stored, 2)
        age(root, index_of("v1", first), 20)
        age(root, revision_of(first), 20)
        applied = await stored.pruner().apply()
        assert applied.outcomes == (), "its configuration does not say when it was built"


class Later(ObjectStorage):
    """Files with another clock than this machine, by whole hours."""

    def __init__(self, root: Path, hours: float) -> None:
        super().__init__(reads=LocalStore(root), changes=LocalStore(root), name="later")
        self._difference = timedelta(hours=hours)
        self.puts: list[str] = []

    def _moved(self, found: StoredObject) -> StoredObject:
        return StoredObject(found.path, found.size_bytes, found.modified_at + self._difference)

    async def pages(self, prefix: str) -> AsyncIterator[Sequence[StoredObject]]:
        async for page in super().pages(prefix):
            yield [self._moved(one) for one in page]

    async def head(self, path: str) -> StoredObject | None:
        found = await super().head(path)
        return None if found is None else self._moved(found)

    async def put(
        self, path: str, content: bytes, *, condition: OnlyNew | OnlyVersion | None = None
    ) -> None:
        self.puts.append(path)
        await super().put(path, content, condition=condition)


@pytest.mark.parametrize("hours", [-1.0, 1.0])
async def test_ages_are_by_the_clock_of_the_storage(
    stored: World, root: Path, hours: float
) -> None:
    """Half an hour old by its own clock, and an hour is kept: it stays whatever ours says."""
    later = Later(root, hours)
    stored.storage = later
    stored.settings = Settings(keep_tag_revisions=0)
    young = await stored.shelf.image("a:v1", layers=[b"1"])
    old = await stored.shelf.image("a:v1", layers=[b"2"])
    await stored.shelf.image("a:v1", layers=[b"3"])
    for image, hours_old in ((young, 0.5), (old, 1.5)):
        age(root, index_of("v1", image), hours_old)
        age(root, revision_of(image), hours_old)
    applied = await stored.pruner().apply()
    assert [one.line.digest for one in applied.outcomes] == [str(old.digest)]
    assert later.puts
    assert all(path.startswith("lading/clock-") for path in later.puts)
    assert not times(root / "lading")


class ReadOnly(ObjectStorage):
    async def put(
        self, path: str, content: bytes, *, condition: OnlyNew | OnlyVersion | None = None
    ) -> None:
        raise storages.Denied(f"{path}: forbidden")


async def test_a_storage_that_forbids_writing_deletes_nothing(stored: World, root: Path) -> None:
    for number in range(5):
        await stored.shelf.image("a:v1", layers=[str(number).encode()])
    store = LocalStore(root)
    stored.storage = ReadOnly(reads=store, changes=store, name="read-only")
    pruner = stored.pruner()
    assert len(pruner.plan(await pruner.observe()).deletions) == 2, "a dry run needs only reading"
    with pytest.raises(storages.Denied, match="allow the pruner to write"):
        await pruner.apply()
    inventory = await read(stored)
    assert len(inventory.repositories["a"].manifests) == 5


async def test_the_time_of_the_storage_leaves_no_object_behind(stored: World, root: Path) -> None:
    assert stored.storage is not None
    await storage_clock.server_time(stored.storage)
    assert not [path for path in times(root / "lading") if path.is_file()]


async def test_on_s3_a_dry_run_only_reads_and_a_confirmed_one_cleans_up(
    stored: World, root: Path, bucket: Bucket
) -> None:
    images = [
        await stored.shelf.image("a:v1", layers=[str(number).encode()]) for number in range(5)
    ]
    for path in times(root):
        if path.is_file():
            modified = datetime.fromtimestamp(path.stat().st_mtime, tz=UTC)
            key = f"root/{path.relative_to(root)}"
            bucket.objects[key] = path.read_bytes(), modified
    for number, image in enumerate(images):
        key = f"root/docker/registry/v2/repositories/{index_of('v1', image)}"
        content, _ = bucket.objects[key]
        bucket.objects[key] = content, datetime(2026, 1, 1, number, tzinfo=UTC)
    before = dict(bucket.objects)
    url = f"s3://{bucket.name}/root"
    stored.storage = object_storage.open_storage(url, environment=os.environ)
    pruner = stored.pruner()
    plan = pruner.plan(await pruner.observe())
    expected = {str(one.digest) for one in images[:2]}
    assert {line.digest for line in plan.deletions} == expected
    assert set(bucket.methods) <= {"GET", "HEAD"}
    applied = await pruner.apply()
    assert {one.line.digest for one in applied.outcomes} == expected
    assert bucket.objects == before, "only the object of the clock was written, and it is gone"
