"""The file with the reason of every blob."""

import json
from pathlib import Path

from lading.cli.output import Format
from lading.cli.prune import sweeping
from tests.pruning.sweep.memory_storage import MemoryStorage
from tests.pruning.sweep.storage_registry import StorageRegistry
from tests.pruning.sweep.worlds import SweepWorld


async def test_a_blob_that_the_registry_still_answers_for_is_reported_as_kept(
    tmp_path: Path,
) -> None:
    storage = MemoryStorage()
    registry = StorageRegistry(storage, has_cache=True)
    world = SweepWorld(storage=storage, replicas=(registry,))
    registry.image("b", "v1")
    digest, free = (registry.upload("a", one) for one in (b"1", b"2"))
    storage.pass_time(hours=25)
    await world.run()
    registry._cache.add(("a", digest))
    storage.pass_time(hours=25)
    sweeping.show(await world.run(), Format.JSON, tmp_path / "report")
    lines = [json.loads(line) for line in (tmp_path / "report").read_text().splitlines()]
    found = {line["digest"]: (line["decision"], line["reason"]) for line in lines}
    assert found[digest] == ("keep", "StillAnswered")
    assert found[free] == ("delete", "Unreferenced")
