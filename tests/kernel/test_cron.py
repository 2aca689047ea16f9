"""The cases of robfig/cron v3, which the CronJob controller and kube-apiserver use."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from lading.kernel import cron
from lading.kernel.errors import Malformed

BERLIN = ZoneInfo("Europe/Berlin")
HAVANA = ZoneInfo("America/Havana")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("schedule", "after", "due"),
    [
        pytest.param("* * * * *", "2026-01-01T00:00:30", "2026-01-01T00:01", id="every minute"),
        pytest.param("*/15 * * * *", "2026-01-01T00:15", "2026-01-01T00:30", id="steps"),
        pytest.param("7/20 * * * *", "2026-01-01T00:30", "2026-01-01T00:47", id="from a number on"),
        pytest.param("0 0 * * *", "2026-01-31T00:00", "2026-02-01T00:00", id="midnight"),
        pytest.param("0 9-17/4 * * MON-fri", "2026-01-02T17:00", "2026-01-05T09:00", id="names"),
        pytest.param("0 0 13 * 5", "2026-01-02T00:00", "2026-01-09T00:00", id="day or weekday"),
        pytest.param("0 0 13 * *", "2026-01-02T00:00", "2026-01-13T00:00", id="day alone"),
        pytest.param("0 0 */2 * 1", "2026-01-05T00:00", "2026-01-07T00:00", id="a step is no star"),
        pytest.param("0 0 */1 * 1", "2026-01-05T00:00", "2026-01-12T00:00", id="a step of 1 is"),
        pytest.param("0 0 *,13 * 1", "2026-01-05T00:00", "2026-01-12T00:00", id="a star in a list"),
        pytest.param("0 0 1-31 * 1", "2026-01-05T00:00", "2026-01-06T00:00", id="a range is none"),
        pytest.param("0,,5 * * * *", "2026-01-01T00:00", "2026-01-01T00:05", id="an empty entry"),
        pytest.param("0 0 29 2 ?", "2026-03-01T00:00", "2028-02-29T00:00", id="a leap day"),
        pytest.param("@yearly", "2026-01-01T00:00", "2027-01-01T00:00", id="yearly"),
        pytest.param("@monthly", "2026-01-01T00:00", "2026-02-01T00:00", id="monthly"),
        pytest.param("@weekly", "2026-01-01T00:00", "2026-01-04T00:00", id="weekly"),
        pytest.param("@daily", "2026-01-01T00:00", "2026-01-02T00:00", id="daily"),
        pytest.param("@hourly", "2026-01-01T00:00", "2026-01-01T01:00", id="hourly"),
        pytest.param("@every 1h30m", "2026-01-01T00:10:05", "2026-01-01T01:40:05", id="a period"),
    ],
)
def test_the_next_time_is(schedule: str, after: str, due: str) -> None:
    assert cron.parse(schedule).next(at(after), UTC) == at(due)


@pytest.mark.parametrize(
    ("schedule", "after"),
    [
        pytest.param("0 0 30 2 *", "2026-01-01T00:00", id="a day that no year has"),
        pytest.param("0 0 29 2 *", "2096-03-01T00:00", id="a day more than five years away"),
    ],
)
def test_a_time_beyond_five_years_is_never_due(schedule: str, after: str) -> None:
    assert cron.parse(schedule).next(at(after), UTC) is None


def test_hours_are_those_of_the_time_zone() -> None:
    schedule = cron.parse("0 2 * * *")
    assert schedule.next(at("2026-01-01T12:00"), BERLIN) == at("2026-01-02T01:00")
    assert schedule.next(at("2026-07-01T12:00"), BERLIN) == at("2026-07-02T00:00")


def test_an_hour_that_summer_time_leaves_out_is_skipped() -> None:
    """On 29 March 2026 the clock in Berlin goes from 1:59 to 3:00."""
    assert cron.parse("30 2 * * *").next(at("2026-03-28T02:00"), BERLIN) == at("2026-03-30T00:30")


def test_an_hour_that_comes_twice_is_due_twice() -> None:
    """On 25 October 2026 the clock in Berlin goes from 2:59 back to 2:00."""
    schedule = cron.parse("30 2 25 10 *")
    first = schedule.next(at("2026-10-24T12:00"), BERLIN)
    assert first == at("2026-10-25T00:30")
    assert schedule.next(first, BERLIN) == at("2026-10-25T01:30")


def test_a_day_without_midnight_begins_later() -> None:
    """On 8 March 2026 the clock in Havana goes from 23:59 to 1:00."""
    assert cron.parse("0 1 8 3 *").next(at("2026-03-07T12:00"), HAVANA) == at("2026-03-08T05:00")
    assert cron.parse("@daily").next(at("2026-03-07T12:00"), HAVANA) == at("2026-03-09T04:00")


@pytest.mark.parametrize(
    ("schedule", "reason"),
    [
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("* * * * 7", "end of range (7) above maximum (6): 7"),
        ("0 0 L * *", 'failed to parse int from L: strconv.Atoi: parsing "L": invalid syntax'),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("* * * * sat-sun", "beginning of range (6) beyond end of range (0): sat-sun"),
        ("@noon", "unrecognized descriptor: @noon"),
        ("* * * * * *", "expected exactly 5 fields, found 6: [* * * * * *]"),
        ("CRON_TZ=UTC * * * * *", "expected exactly 5 fields, found 6: [CRON_TZ=UTC * * * * *]"),
    ],
)
def test_a_schedule_without_meaning_is_refused(schedule: str, reason: str) -> None:
    with pytest.raises(Malformed) as caught:
        cron.parse(schedule)
    assert caught.value.reason == reason
