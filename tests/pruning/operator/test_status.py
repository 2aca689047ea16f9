"""The conditions of the ImagePruner, by its CronJob, Jobs, pods and reports."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from lading.api.core import CronJobStatus
from lading.api.imageregistry import ImagePrunerStatus
from lading.kernel import conditions
from lading.kernel.conditions import Condition
from lading.kernel.planning import RecordEvent
from lading.kernel.values import replace
from lading.pruning.operator import plan as planning
from lading.pruning.operator import status as pruner_status
from lading.pruning.operator.types import (
    ObservedPruner,
    PrunerFacts,
    WritePrunerStatus,
)
from tests.pruning.operator.pruner_worlds import (
    NOW,
    SETTINGS,
    job,
    pod,
    pruner,
    reported,
    run,
    settled,
    text,
)

HOUR = timedelta(hours=1)
FIRST, SECOND = "lading-image-pruner-1", "lading-image-pruner-2"


def status(seen: ObservedPruner, now: datetime = NOW) -> ImagePrunerStatus:
    """As written, or as it stands."""
    actions = planning.plan(seen, SETTINGS, now).plan.actions
    for one in actions:
        if isinstance(one, WritePrunerStatus):
            return one.status
    assert seen.pruner is not None
    return pruner_status.status_of(seen.pruner)


def condition(seen: ObservedPruner, kind: str, now: datetime = NOW) -> Condition:
    found = conditions.find(status(seen, now).conditions, kind)
    assert found is not None
    return found


def facts(seen: ObservedPruner, now: datetime = NOW) -> PrunerFacts:
    return planning.plan(seen, SETTINGS, now).facts


def shown(one: Condition) -> tuple[str, str, str]:
    return one.status, one.reason, one.message


def ran(*jobs: Any, **more: Any) -> ObservedPruner:
    return settled(jobs=jobs, **more)


def scheduled(seen: ObservedPruner, at: datetime) -> ObservedPruner:
    """The CronJob controller made a Job then."""
    assert seen.cron_job is not None
    made = replace(seen.cron_job, status=CronJobStatus(last_schedule_time=text(at)))
    return replace(seen, cron_job=made)


def test_a_fresh_pruner_has_the_words_of_the_design() -> None:
    seen = settled()
    assert shown(condition(seen, "Available")) == (
        "True",
        "Ready",
        "Periodic image pruner has been created.",
    )
    assert shown(condition(seen, "Scheduled")) == (
        "True",
        "Scheduled",
        "Image pruner job has been scheduled.",
    )
    assert condition(seen, "Failed").status == "Unknown"
    assert condition(seen, "Ambiguous").status == "False"
    found = status(seen)
    assert found.observed_generation == 1
    assert found.next_schedule_time == "2026-01-02T00:00:00Z"
    assert all(one.observed_generation == 1 for one in found.conditions)
    assert facts(seen).has_failed is None


def test_suspended_and_resumed() -> None:
    seen = settled({"suspend": True})
    found = condition(seen, "Scheduled")
    assert (found.status, found.reason) == ("False", "Suspended")
    assert status(seen).next_schedule_time == ""
    assert facts(seen).is_suspended
    assert not facts(seen).is_scheduled
    before = reported(seen)
    assert before.pruner is not None
    resumed = replace(settled(), pruner=pruner(status=before.pruner.status))
    later = NOW + 30 * 24 * HOUR
    assert condition(resumed, "Scheduled", later).status == "True", "nothing was due meanwhile"


def test_the_most_recent_job_counts() -> None:
    older = job(FIRST, failed="broken", start=NOW - 3 * HOUR, end=NOW - 2 * HOUR)
    newer = job(SECOND, start=NOW - HOUR, end=NOW - HOUR / 2)
    seen = ran(older, newer)
    assert shown(condition(seen, "Failed")) == (
        "False",
        "Succeeded",
        "Most recent image pruning job succeeded.",
    )
    found = status(seen)
    assert found.last_job == SECOND
    assert found.last_success_time == text(NOW - HOUR / 2)
    assert found.last_job_duration_seconds == 1800
    assert facts(seen).last_success == NOW - HOUR / 2


def test_of_two_jobs_that_ended_in_one_second_the_later_one_counts() -> None:
    jobs = job(FIRST, failed="broken"), job(SECOND)
    for seen in (ran(*jobs), ran(*jobs[::-1])):
        assert status(seen).last_job == SECOND


def test_only_jobs_of_this_very_cron_job_count() -> None:
    assert condition(ran(job(failed="broken", owner="another")), "Failed").status == "Unknown"


def test_while_a_job_runs_the_last_one_that_ended_counts() -> None:
    seen = ran(job(FIRST), job(SECOND, active=True, start=NOW - HOUR))
    assert condition(seen, "Failed").status == "False"
    assert facts(seen).active_since == NOW - HOUR


@pytest.mark.parametrize("left", [(), (job(FIRST),)], ids=["none left", "an older one left"])
def test_a_job_that_the_history_removed_changes_nothing(left: tuple[Any, ...]) -> None:
    failed = job(SECOND, failed="broken", end=NOW)
    before = reported(ran(job(FIRST), failed))
    after = replace(before, jobs=left)
    assert condition(after, "Failed").status == "True"
    assert planning.plan(after, SETTINGS, NOW).plan.actions == ()


def test_a_guard_is_named() -> None:
    refused = run(phase="Refused", message="The plan deletes 9 of 10 manifests.")
    found = condition(ran(job(failed="Pod failed with exit code 3"), reports=(refused,)), "Failed")
    assert (found.status, found.reason) == ("True", "RefusedByGuard")
    assert f"{FIRST} failed: imagestreams: The plan deletes 9 of 10" in found.message


def test_out_of_memory_names_what_to_raise_and_outlives_its_pod() -> None:
    seen = ran(job(failed="BackoffLimitExceeded"), pods=(pod(reason="OOMKilled"),))
    found = condition(seen, "Failed")
    assert found.reason == "OutOfMemory"
    assert "spec.resources" in found.message
    after = replace(reported(seen), pods=())
    assert condition(after, "Failed").reason == "OutOfMemory"


def test_a_pod_that_is_seen_after_its_job_still_names_the_cause() -> None:
    seen = reported(ran(job(failed="BackoffLimitExceeded")))
    assert condition(seen, "Failed").reason == "JobFailed"
    after = replace(seen, pods=(pod(reason="OOMKilled"),))
    assert condition(after, "Failed").reason == "OutOfMemory"


def test_the_last_words_of_a_pod_are_the_cause() -> None:
    last = pod(reason="Error", message="Error: the registry does not answer\n")
    found = condition(ran(job(failed="BackoffLimitExceeded"), pods=(last,)), "Failed")
    assert "imagestreams: Error: the registry does not answer" in found.message
    bare = condition(ran(job(failed="Job has reached its limit")), "Failed")
    assert bare.message.endswith("failed: Job has reached its limit")


def named_pod(name: str, job_name: str, at: datetime, **terminated: Any) -> Any:
    made = pod(job_name, **terminated)
    metadata = replace(made.metadata, name=name, creation_timestamp=text(at))
    return replace(made, metadata=metadata)


def test_only_the_newest_pod_of_the_job_that_failed_counts() -> None:
    pods = (
        named_pod("b", FIRST, NOW - HOUR, reason="Error", message="newest"),
        named_pod("a", FIRST, NOW - 2 * HOUR, reason="Error", message="oldest"),
        named_pod("c", SECOND, NOW, reason="OOMKilled", message="of another Job"),
    )
    found = condition(ran(job(FIRST, failed="limit"), pods=pods), "Failed")
    assert found.reason == "JobFailed"
    assert found.message.endswith("failed: imagestreams: newest")


def test_a_container_that_completed_is_not_the_cause() -> None:
    done = named_pod("a", FIRST, NOW, reason="Completed", message="well done")
    found = condition(ran(job(FIRST, failed="limit"), pods=(done,)), "Failed")
    assert found.message.endswith("failed: limit")


def test_what_a_run_reports_comes_before_the_words_of_its_pod() -> None:
    failed = run(phase="Failed", message="the registry is full", unknown_references=1)
    last = pod(reason="Error", message="exit")
    found = condition(ran(job(failed="limit"), pods=(last,), reports=(failed,)), "Failed")
    assert "failed: imagestreams: the registry is full" in found.message
    assert "1 references cannot be read" in found.message


def test_the_last_success_is_the_latest_that_is_known() -> None:
    seen = reported(ran(job(FIRST, end=NOW - 2 * HOUR)))
    removed = replace(seen, jobs=())
    assert facts(removed).last_success == NOW - 2 * HOUR
    assert removed.cron_job is not None
    later = CronJobStatus(last_successful_time=text(NOW - HOUR))
    told = replace(removed, cron_job=replace(removed.cron_job, status=later))
    assert facts(told).last_success == NOW - HOUR


def test_figures_are_those_of_the_last_job_only() -> None:
    reports = (run(FIRST, name="a"), run(SECOND, name="b"), run("", name="c"))
    found = facts(ran(job(FIRST), reports=reports))
    assert [one.name for one in found.runs] == ["a"]


def test_a_job_without_a_start_is_active_since_it_was_made() -> None:
    made = job(FIRST, active=True, start=NOW - HOUR)
    waiting = replace(made, status=replace(made.status, start_time=None))
    assert facts(ran(waiting)).active_since == NOW - HOUR


def test_a_bad_spec_does_not_settle_what_disagreed() -> None:
    spec = {"keepYoungerThan": "1h", "keepYoungerThanDuration": "2h"}
    before = reported(settled(spec))
    assert before.pruner is not None
    bad = replace(before, pruner=pruner({"tolerations": {}}, status=before.pruner.status))
    assert condition(bad, "Ambiguous").status == "True"


def test_where_the_status_is_cut_down_a_start_is_missed_all_the_same() -> None:
    seen = reported(settled(drops_status=True))
    missed = condition(seen, "Scheduled", NOW + 14 * HOUR)
    assert (missed.status, missed.reason) == ("False", "Error")
    suspended = reported(settled({"suspend": True}, drops_status=True))
    assert suspended.pruner is not None
    resumed = replace(settled(drops_status=True), pruner=pruner(status=suspended.pruner.status))
    assert condition(resumed, "Scheduled", NOW + 48 * HOUR).status == "True"


def test_a_report_of_another_job_is_not_its_cause() -> None:
    other = run(SECOND, phase="Refused", message="no")
    found = condition(ran(job(failed="limit"), reports=(other,)), "Failed")
    assert found.reason == "JobFailed"


def test_unknown_references_are_named_by_object() -> None:
    found = run(unknown_references=2, unknown_reference_objects=("Pod a/b image",))
    message = condition(ran(job(), reports=(found,)), "Failed").message
    assert message.startswith("Most recent image pruning job succeeded.")
    assert "2 references cannot be read" in message
    assert "Pod a/b image" in message


def test_a_missed_start_is_an_error_until_the_next_run() -> None:
    seen = reported(settled())
    due = datetime(2026, 1, 2, tzinfo=NOW.tzinfo)
    recheck = planning.plan(seen, SETTINGS, NOW).plan.recheck_at
    assert recheck == due + HOUR + SETTINGS.missed_grace
    assert condition(seen, "Scheduled", recheck - timedelta(seconds=1)).status == "True"
    missed = condition(seen, "Scheduled", recheck)
    assert (missed.status, missed.reason) == ("False", "Error")
    assert "2026-01-02T00:00:00Z" in missed.message
    next_day = scheduled(reported(seen, now=recheck), due + 24 * HOUR)
    assert condition(next_day, "Scheduled", due + 25 * HOUR).status == "True"


def test_a_start_that_a_running_job_delays_is_not_missed() -> None:
    long = replace(reported(settled()), jobs=(job(FIRST, active=True, start=NOW - HOUR),))
    assert condition(long, "Scheduled", NOW + 48 * HOUR).status == "True"
    recheck_at = planning.plan(long, SETTINGS, NOW + 48 * HOUR).plan.recheck_at
    assert recheck_at is None, "a time that is past would be checked without end"
    ended = replace(long, jobs=(job(FIRST, start=NOW, end=NOW + 48 * HOUR),))
    assert condition(ended, "Scheduled", NOW + 48 * HOUR).status == "True"


def test_times_before_an_edit_of_the_schedule_were_never_due() -> None:
    before = scheduled(reported(settled(), now=NOW - 24 * HOUR), NOW - 12 * HOUR)
    assert before.pruner is not None
    spec = {"schedule": "0 * * * *", "startingDeadlineSeconds": 60}
    edited = settled(spec, now=NOW)
    assert edited.cron_job is not None
    edited = scheduled(
        replace(edited, pruner=pruner(spec, status=before.pruner.status)), NOW - 12 * HOUR
    )
    assert condition(edited, "Scheduled", NOW + timedelta(minutes=30)).status == "True"


def test_a_deadline_beyond_the_calendar_is_never_missed() -> None:
    seen = reported(settled({"startingDeadlineSeconds": 2**62}))
    assert condition(seen, "Scheduled", NOW + 1000 * HOUR).status == "True"


def test_a_schedule_that_never_comes_is_an_error() -> None:
    seen = settled({"schedule": "0 0 31 2 *"})
    found = condition(seen, "Scheduled")
    assert (found.status, found.reason) == ("False", "Error")
    assert "spec.schedule" in found.message
    assert not facts(seen).is_scheduled
    assert facts(seen).period is None


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        pytest.param(NOW - HOUR / 4, NOW + 5 * HOUR / 4, id="from the last start"),
        pytest.param(NOW - 2 * HOUR, NOW + HOUR, id="the time after one that was missed"),
        pytest.param(None, NOW + HOUR, id="from the creation"),
    ],
)
def test_a_period_counts_from_the_last_start(last: datetime | None, expected: datetime) -> None:
    """Not from the moment of the look: a look would change the status."""
    seen = settled({"schedule": "@every 90m", "startingDeadlineSeconds": 7200})
    assert seen.cron_job is not None
    metadata = replace(seen.cron_job.metadata, creation_timestamp=text(NOW - HOUR / 2))
    seen = replace(seen, cron_job=replace(seen.cron_job, metadata=metadata))
    seen = scheduled(seen, last) if last is not None else seen
    assert status(seen).next_schedule_time == text(expected)
    later = NOW + timedelta(minutes=1)
    assert status(seen, later).next_schedule_time == text(expected)


def test_settings_that_disagree_are_a_condition() -> None:
    spec = {"keepYoungerThan": "1h", "keepYoungerThanDuration": "2h"}
    found = condition(settled(spec), "Ambiguous")
    assert (found.status, found.reason) == ("True", "SettingsDisagree")
    assert "2h keeps more" in found.message


def test_the_longest_gap_is_the_period() -> None:
    assert facts(settled()).period == 24 * HOUR
    assert facts(settled({"schedule": "0 0 * * mon-fri"})).period == 72 * HOUR
    assert facts(settled({"schedule": "0 0-6 * * *"})).period == 18 * HOUR, "the seventh one"
    assert facts(settled({"schedule": "*/15 * * * *"})).period == HOUR / 4


def test_events_tell_what_changed_and_only_that() -> None:
    def events(seen: ObservedPruner) -> list[tuple[str, bool]]:
        actions = planning.plan(seen, SETTINGS, NOW).plan.actions
        found = [one for one in actions if isinstance(one, RecordEvent)]
        return [(one.reason, one.warning) for one in found]

    seen = settled()
    assert events(seen) == [("Ready", False), ("Scheduled", False)]
    failed = replace(reported(seen), jobs=(job(failed="broken"),))
    assert events(failed) == [("JobFailed", True)]
    assert events(reported(failed)) == []


def test_a_status_of_another_writer_is_read_as_far_as_it_can_be() -> None:
    found = pruner_status.status_of(
        pruner(status={"conditions": [{"type": "A", "status": "True"}, 7], "lastRun": 3})
    )
    assert [one.type for one in found.conditions] == ["A"]
