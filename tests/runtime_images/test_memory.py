"""Ages over several looks: what makes an image old, and what must not."""

from datetime import timedelta

from lading.adapters.state_file import LocalStateFile
from lading.runtime_images import memory as memories
from lading.runtime_images import state
from lading.runtime_images.types import Memory, Policy, Resolution
from tests.runtime_images.builders import NOW, key
from tests.runtime_images.conftest import Stand

A, KATA = key("a"), key("a", handler="kata")
WEEK = Policy(maximum_age=timedelta(days=7))
RESOLUTION = Resolution(
    reference="registry.example/a:1",
    runtime_handler="kata",
    platform="linux/arm64",
    pulled="registry.example/a@sha256:" + "0" * 64,
)


def look(
    memory: Memory | None, *, after: timedelta, used: bool = False, policy: Policy = WEEK
) -> Memory:
    return memories.remember(
        memory, present=(A,), in_use={A} if used else set(), policy=policy, now=NOW + after
    )


def unused_days(memory: Memory, *, after: timedelta) -> float:
    return memories.unused_for(memory, A, NOW + after) / timedelta(days=1)


def test_daily_looks_add_up_to_an_age() -> None:
    memory = look(None, after=timedelta(0))
    for day in range(1, 9):
        memory = look(memory, after=timedelta(days=day))
    assert unused_days(memory, after=timedelta(days=8)) == 8


def test_use_starts_the_age_anew() -> None:
    memory = look(look(None, after=timedelta(0)), after=timedelta(days=3), used=True)
    assert unused_days(memory, after=timedelta(days=4)) == 1


def test_a_gap_longer_than_half_the_maximum_age_starts_watching_anew() -> None:
    memory = look(look(None, after=timedelta(0)), after=timedelta(days=4))
    assert unused_days(memory, after=timedelta(days=4)) == 0


def test_a_gap_is_noticed_even_by_a_look_that_has_no_maximum_age() -> None:
    memory = look(look(None, after=timedelta(0)), after=timedelta(days=30), policy=Policy())
    assert unused_days(memory, after=timedelta(days=30)) == 0


def test_a_clock_that_was_set_back_makes_nothing_old() -> None:
    memory = look(look(None, after=timedelta(0)), after=timedelta(days=-2))
    assert unused_days(memory, after=timedelta(days=-2)) <= 0


def test_what_a_clock_that_was_ahead_noted_is_not_younger_than_now() -> None:
    memory = look(None, after=timedelta(days=9000), used=True)
    memory = look(memory, after=timedelta(0))
    assert memories.age(memory, A, NOW) == timedelta(0)
    for day in range(1, 4):
        memory = look(memory, after=timedelta(days=day))
    assert unused_days(memory, after=timedelta(days=3)) == 3


def test_an_image_that_is_gone_is_forgotten_and_comes_back_young() -> None:
    memory = look(None, after=timedelta(0))
    gone = memories.remember(
        memory, present=(), in_use=(), policy=WEEK, now=NOW + timedelta(days=1)
    )
    back = look(gone, after=timedelta(days=2))
    assert memories.age(back, A, NOW + timedelta(days=2)) == timedelta(0)


async def test_what_is_written_is_read_back_by_the_next_start(stand: Stand) -> None:
    memory = memories.remember(None, present=(A, KATA), in_use={KATA}, policy=WEEK, now=NOW)
    await state.save_memory(stand.document, memory)
    await state.save_resolution(stand.document, RESOLUTION)
    loaded = await state.load(LocalStateFile(stand.folder / "state" / "images.json"))
    assert loaded.memory == memory
    assert loaded.resolutions == (RESOLUTION,)


async def test_the_state_file_is_the_only_file_that_stays_beside_it(stand: Stand) -> None:
    for _ in range(3):
        await state.save_resolution(stand.document, RESOLUTION)
    assert [path.name for path in (stand.folder / "state").iterdir()] == ["images.json"]
    assert (await state.load(stand.document)).resolutions == (RESOLUTION,)
