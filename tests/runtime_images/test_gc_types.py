"""Image records over several observations: what makes an image old, and what must not."""

from datetime import timedelta

from lading.runtime_images.gc_types import GcPolicy, records_after
from lading.runtime_images.types import ImageRecords
from tests.runtime_images.builders import NOW, key

A = key("a")
WEEK = GcPolicy(maximum_age=timedelta(days=7))


def observed(
    before: ImageRecords | None,
    *,
    after: timedelta,
    is_used: bool = False,
    policy: GcPolicy = WEEK,
) -> ImageRecords:
    in_use = {A} if is_used else set()
    return records_after(before, present=(A,), in_use=in_use, policy=policy, now=NOW + after)


def unused_days(records: ImageRecords, *, after: timedelta) -> float:
    return records.unused_for(A, NOW + after) / timedelta(days=1)


def test_daily_observations_add_up_to_an_age() -> None:
    records = observed(None, after=timedelta(0))
    for day in range(1, 9):
        records = observed(records, after=timedelta(days=day))
    assert unused_days(records, after=timedelta(days=8)) == 8


def test_use_starts_the_age_anew() -> None:
    records = observed(observed(None, after=timedelta(0)), after=timedelta(days=3), is_used=True)
    assert unused_days(records, after=timedelta(days=4)) == 1


def test_a_gap_longer_than_half_the_maximum_age_starts_the_age_anew() -> None:
    records = observed(observed(None, after=timedelta(0)), after=timedelta(days=4))
    assert unused_days(records, after=timedelta(days=4)) == 0


def test_a_gap_is_noticed_even_by_an_observation_without_a_maximum_age() -> None:
    first = observed(None, after=timedelta(0))
    records = observed(first, after=timedelta(days=30), policy=GcPolicy())
    assert unused_days(records, after=timedelta(days=30)) == 0


def test_a_clock_that_was_set_back_makes_nothing_old() -> None:
    records = observed(observed(None, after=timedelta(0)), after=timedelta(days=-2))
    assert unused_days(records, after=timedelta(days=-2)) <= 0


def test_what_a_clock_that_was_ahead_recorded_is_not_younger_than_now() -> None:
    records = observed(None, after=timedelta(days=9000), is_used=True)
    records = observed(records, after=timedelta(0))
    assert records.age(A, NOW) == timedelta(0)
    for day in range(1, 4):
        records = observed(records, after=timedelta(days=day))
    assert unused_days(records, after=timedelta(days=3)) == 3


def test_an_image_that_is_gone_loses_its_record_and_comes_back_young() -> None:
    first = observed(None, after=timedelta(0))
    a_day_later = NOW + timedelta(days=1)
    gone = records_after(first, present=(), in_use=(), policy=WEEK, now=a_day_later)
    back = observed(gone, after=timedelta(days=2))
    assert back.age(A, NOW + timedelta(days=2)) == timedelta(0)
