"""The conditions of the ImagePruner, by its CronJob, Jobs, pods and reports."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from lading.api.batch import CronJobStatus
from lading.api.imageregistry import ImagePrunerStatus
from lading.kernel import conditions
from lading.kernel.conditions import Condition
from lading.pruning.operator import plan as planning
from lading.pruning.operator import report
from lading.pruning.operator.types import (
    ObservedPruner,
    PrunerFacts,
    RecordPrunerEvent,
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
    return report.status_of(seen.pruner)


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
    made = msgspec.structs.replace(seen.cron_job, status=CronJobStatus(last_schedule_time=text(at)))
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


def test_the_last_words_of_a_pod_are_the_cause() -> None:
    last = pod(reason="Error", message="Error: the registry does not answer\n")
    found = condition(ran(job(failed="BackoffLimitExceeded"), pods=(last,)), "Failed")
    assert "imagestreams: Error: the registry does not answer" in found.message
    bare = condition(ran(job(failed="Job has reached its limit")), "Failed")
    assert bare.message.endswith("failed: Job has reached its limit")


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
    ended = replace(long, jobs=(job(FIRST, start=NOW, end=NOW + 48 * HOUR),))
    assert condition(ended, "Scheduled", NOW + 48 * HOUR).status == "True"


def test_times_before_an_edit_of_the_schedule_were_never_due() -> None:
    before = scheduled(reported(settled()), NOW - 12 * HOUR)
    assert before.pruner is not None
    spec = {"schedule": "0 * * * *", "startingDeadlineSeconds": 60}
    edited = settled(spec, now=NOW)
    assert edited.cron_job is not None
    edited = scheduled(
        replace(edited, pruner=pruner(spec, status=before.pruner.status)), NOW - 12 * HOUR
    )
    assert condition(edited, "Scheduled", NOW + timedelta(minutes=30)).status == "True"


def test_settings_that_disagree_are_a_condition() -> None:
    spec = {"keepYoungerThan": "1h", "keepYoungerThanDuration": "2h"}
    found = condition(settled(spec), "Ambiguous")
    assert (found.status, found.reason) == ("True", "SettingsDisagree")
    assert "2h keeps more" in found.message


def test_the_longest_gap_is_the_period() -> None:
    assert facts(settled()).period == 24 * HOUR
    assert facts(settled({"schedule": "0 0 * * mon-fri"})).period == 72 * HOUR
    assert facts(settled({"schedule": "*/15 * * * *"})).period == HOUR / 4


def test_events_tell_what_changed_and_only_that() -> None:
    def events(seen: ObservedPruner) -> list[tuple[str, bool]]:
        actions = planning.plan(seen, SETTINGS, NOW).plan.actions
        found = [one for one in actions if isinstance(one, RecordPrunerEvent)]
        return [(one.reason, one.warning) for one in found]

    seen = settled()
    assert events(seen) == [("Ready", False), ("Scheduled", False)]
    failed = replace(reported(seen), jobs=(job(failed="broken"),))
    assert events(failed) == [("JobFailed", True)]
    assert events(reported(failed)) == []


def test_a_status_of_another_writer_is_read_as_far_as_it_can_be() -> None:
    found = report.status_of(
        pruner(status={"conditions": [{"type": "A", "status": "True"}, 7], "lastRun": 3})
    )
    assert [one.type for one in found.conditions] == ["A"]
