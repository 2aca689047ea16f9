"""Sweeps of a bucket that fails: nothing that is needed goes, and what is counted is true."""

import os
from datetime import UTC, datetime, timedelta

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.storage import object_storage
from lading.ports import storage as storages
from lading.pruning.engine.decisions.guards import Limits
from lading.pruning.engine.references.custom_paths import READY_MADE
from lading.pruning.engine.references.observe import Reading
from lading.pruning.engine.types import Settings
from lading.pruning.sweep import layout
from lading.pruning.sweep.apply import SweepCounts
from lading.pruning.sweep.controller import Sweeper, SweepRequest
from lading.pruning.sweep.lock import StorageLock
from lading.pruning.sweep.storage_file import StorageFile
from lading.pruning.sweep.types import SweepSettings
from tests.adapters.storage import s3
from tests.adapters.storage.s3 import Bucket
from tests.pruning.sweep.memory_storage import MemoryStorage
from tests.pruning.sweep.storage_registry import StorageRegistry

OLD = datetime.now(UTC) - timedelta(days=2)
AT_ONCE = timedelta(0)


@pytest.fixture
def registry(bucket: Bucket) -> StorageRegistry:
    """A registry with one image and three orphans, on the objects of the bucket."""
    found = StorageRegistry(MemoryStorage(objects=bucket.objects, now=OLD))
    found.image("a", "v1", [b"kept"])
    for number in range(3):
        found.upload("a", b"orphan %d" % number)
    return found


async def sweep(bucket: Bucket, *, offline: bool = True) -> SweepCounts:
    storage = object_storage.open_storage(f"s3://{bucket.name}", environment=os.environ)
    sweeper = Sweeper(
        SweepRequest(
            settings=SweepSettings(grace=AT_ONCE, second_look_after=AT_ONCE, is_offline=offline),
            limits=Limits(share_percent_max=100),
            reading=Reading(settings=Settings(), custom=READY_MADE),
        ),
        storage=storage,
        replicas=(),
        clusters=(),
        files=(),
        state_file=StorageFile(storage, f"{layout.OWN}/state.json"),
        known_file=StorageFile(storage, f"{layout.OWN}/manifests"),
        lock=StorageLock(storage),
        clock=SystemClock(),
    )
    return (await sweeper.run()).counts


def data(bucket: Bucket) -> set[str]:
    return {one for one in bucket.objects if one.startswith(layout.BLOBS)}


def image(registry: StorageRegistry) -> str:
    (found,) = [one for one in registry.storage.objects if "/revisions/" in one]
    return registry.storage.objects[found][0].decode()


async def test_answers_of_503_cost_only_time(bucket: Bucket, registry: StorageRegistry) -> None:
    bucket.unavailable_every = 4
    for _ in range(2):
        counts = await sweep(bucket, offline=False)
    assert (counts.freed_blobs, counts.freed_bytes, counts.failed) == (3, 24, 0)
    assert len(data(bucket)) == 3
    assert registry.can_pull("a", image(registry))


async def test_a_slow_bucket_is_swept(bucket: Bucket, registry: StorageRegistry) -> None:
    bucket.latency_seconds = 0.03
    counts = await sweep(bucket)
    assert (counts.freed_blobs, counts.failed) == (3, 0)
    assert registry.can_pull("a", image(registry))


async def test_a_sweep_costs_lists_unknown_manifests_and_bulk_deletions(
    bucket: Bucket, registry: StorageRegistry
) -> None:
    for number in range(1200):
        registry.upload("a", b"more %d" % number)
    await sweep(bucket)
    assert len(data(bucket)) == 3
    bulk = 2 * 2  # links and data, 1,000 in a request
    own = 2  # the object that tells the time, and the lock
    assert bucket.methods.count("POST") == bulk + own
    bucket.methods.clear()
    before = len(bucket.objects)
    await sweep(bucket)
    assert before < s3.PAGE_KEYS
    lists = 4  # is it a registry, everything, and twice what is aside
    own = 4  # state, known manifests, and twice the lock
    assert bucket.methods.count("GET") == lists + own, "no manifest is read again"


async def test_what_could_not_be_deleted_is_not_counted(
    bucket: Bucket, registry: StorageRegistry
) -> None:
    digests = [registry.upload("a", b"orphan %d" % number) for number in range(3)]
    bucket.locked = {layout.data_path(digests[0])}
    counts = await sweep(bucket)
    assert (counts.freed_blobs, counts.freed_bytes, counts.failed) == (2, 16, 1)
    assert digests[0].removeprefix("sha256:") in counts.failures[0]
    bucket.locked = set()
    counts = await sweep(bucket)
    assert (counts.freed_blobs, counts.failed) == (1, 0)
    assert registry.can_pull("a", image(registry))


async def test_data_that_cannot_be_moved_aside_stays(
    bucket: Bucket, registry: StorageRegistry
) -> None:
    """The copy succeeds and the deletion does not: the data is in both places for a while."""
    digest = registry.upload("a", b"orphan 0")
    await sweep(bucket, offline=False)
    bucket.locked = {layout.data_path(digest)}
    counts = await sweep(bucket, offline=False)
    assert (counts.freed_blobs, counts.failed) == (2, 1)
    assert layout.data_path(digest) in bucket.objects
    assert layout.aside_path(digest) not in bucket.objects
    bucket.locked = set()
    await sweep(bucket, offline=False)
    assert len(data(bucket)) == 3
    assert registry.can_pull("a", image(registry))


async def test_without_the_right_to_list_nothing_changes(
    bucket: Bucket, registry: StorageRegistry
) -> None:
    before = set(bucket.objects)
    bucket.forbidden_methods = {"GET"}
    with pytest.raises(storages.Denied):
        await sweep(bucket)
    assert set(bucket.objects) == before


async def test_without_the_right_to_write_nothing_changes(
    bucket: Bucket, registry: StorageRegistry
) -> None:
    before = set(bucket.objects)
    bucket.forbidden_methods = {"PUT", "POST", "DELETE"}
    with pytest.raises(storages.Denied):
        await sweep(bucket)
    assert set(bucket.objects) == before
