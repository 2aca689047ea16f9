"""The state file of images: what is written is read back, and no writer undoes another."""

import asyncio

import pytest

from lading.adapters.state_files import LocalStateFile
from lading.kernel.values import replace
from lading.runtime_images import state
from lading.runtime_images.gc_types import GcPolicy, records_after
from lading.runtime_images.state import ImageStateFile
from lading.runtime_images.types import DigestPull, SavedImageState
from tests.runtime_images.builders import NOW, key
from tests.runtime_images.conftest import Stand

A, KATA = key("a"), key("a", handler="kata")
RECORDS = records_after(None, present=(A, KATA), in_use={KATA}, policy=GcPolicy(), now=NOW)
PULL = DigestPull(
    reference="registry.example/a:1",
    runtime_handler="kata",
    platform="linux/arm64",
    pulled="registry.example/a@sha256:" + "0" * 64,
)


async def test_what_is_written_is_read_back_by_the_next_start(stand: Stand) -> None:
    await stand.state.save_records(RECORDS)
    await stand.state.save_digest_pull(PULL)
    restarted = ImageStateFile(LocalStateFile(stand.folder / "state" / "images.json"))
    assert await restarted.load() == SavedImageState(records=RECORDS, digest_pulls=(PULL,))


async def test_no_temporary_file_stays_in_the_folder_of_the_state_file(stand: Stand) -> None:
    for _ in range(3):
        await stand.state.save_digest_pull(PULL)
    names = {path.name for path in (stand.folder / "state").iterdir()}
    assert names == {"images.json", "images.json.lock"}
    assert (await stand.state.load()).digest_pulls == (PULL,)


async def test_writers_at_the_same_time_lose_nothing_of_each_other(
    stand: Stand,
) -> None:
    pulls = [replace(PULL, reference=f"registry.example/a:{number}") for number in range(20)]
    await asyncio.gather(
        *(stand.state.save_digest_pull(pull) for pull in pulls), stand.state.save_records(RECORDS)
    )
    known = await stand.state.load()
    assert (set(known.digest_pulls), known.records) == (set(pulls), RECORDS)


async def test_the_oldest_pulls_by_digest_are_dropped_beyond_the_limit(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "DIGEST_PULLS_MAX", 2)
    pulls = [replace(PULL, reference=f"registry.example/a:{number}") for number in range(3)]
    for pull in pulls:
        await stand.state.save_digest_pull(pull)
    assert list((await stand.state.load()).digest_pulls) == pulls[1:]


@pytest.mark.parametrize(
    "content",
    [
        b'{"version": 1, "records": {"observed_at": "yester',
        b'{"records": "\xff"}',
        b'{"version": 2}',
    ],
    ids=["cut off", "no text", "of a later release"],
)
async def test_a_file_that_cannot_be_read_is_a_fresh_start(stand: Stand, content: bytes) -> None:
    file = LocalStateFile(stand.folder / "state" / "images.json")
    await file.replace(content)
    assert await stand.state.load() == SavedImageState()


@pytest.mark.parametrize(
    "pulled",
    [
        "",
        "../../a",
        "registry.example/a:2",
        "registry.example/a@sha256:0",
        f"other.example/evil@sha256:{'0' * 64}",
    ],
    ids=["empty", "a path", "a tag", "a short digest", "another repository"],
)
async def test_a_pull_by_digest_of_another_name_is_as_if_never_written(
    stand: Stand, pulled: str
) -> None:
    """Pods of the runtime class would be given that name."""
    await stand.state.save_digest_pull(PULL)
    await stand.state.save_records(RECORDS)
    hostile = replace(PULL, runtime_handler="other", pulled=pulled)
    await stand.state.save_digest_pull(hostile)
    assert await stand.state.load() == SavedImageState(records=RECORDS, digest_pulls=(PULL,))
