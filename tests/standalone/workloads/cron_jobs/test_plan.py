"""When a CronJob makes a Job, and which Jobs it keeps. It is 12:00:00 on the first of January."""

from datetime import timedelta
from typing import Any

import pytest

from lading.kernel.planning import Plan
from lading.standalone.workloads.actions import (
    Create,
    Delete,
    RecordWorkloadEvent,
    WriteWorkloadStatus,
)
from lading.standalone.workloads.cron_jobs.plan import ObservedCronJob, job_name, plan
from lading.standalone.workloads.kinds import CronJob, Job
from tests.standalone.workloads.builders import NOW, actions, at, cron_job, job_of_cron


def planned(one: CronJob, *jobs: Job) -> Plan:
    return plan(ObservedCronJob(cron_job=one, jobs=jobs), NOW)


def made(one: CronJob, *jobs: Job) -> list[str]:
    return [action.key.name for action in actions(planned(one, *jobs), Create)]


def reasons(of: Plan) -> list[str]:
    return [action.reason for action in actions(of, RecordWorkloadEvent)]


def name_at(seconds: float) -> str:
    return job_name(cron_job(), NOW + timedelta(seconds=seconds))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"last": -300}, [name_at(0)], id="a time that has come"),
        pytest.param({"last": 0}, [], id="a time that was served"),
        pytest.param({"created": -60}, [name_at(0)], id="the first time after the creation"),
        pytest.param({"created": 0}, [], id="nothing was due since the creation"),
        pytest.param({"last": -3600}, [name_at(0)], id="of several missed times the last"),
        pytest.param({"last": -300, "suspend": True}, [], id="a suspended one makes none"),
        pytest.param(
            {"schedule": "50 11 * * *", "last": -9999, "startingDeadlineSeconds": 599},
            [],
            id="a time that is missed for too long",
        ),
        pytest.param(
            {"schedule": "50 11 * * *", "last": -9999, "startingDeadlineSeconds": 601},
            [name_at(-600)],
            id="a time that is missed and still in time",
        ),
        pytest.param(
            {"schedule": "0 13 * * *", "timeZone": "Europe/Berlin", "last": -9999},
            [name_at(0)],
            id="the hour of the time zone",
        ),
    ],
)
def test_a_job_is_made_for(fields: dict[str, Any], expected: list[str]) -> None:
    assert made(cron_job(**fields)) == expected


def test_the_plan_looks_again_at_the_next_time() -> None:
    assert planned(cron_job(last=0)).recheck_at == NOW + timedelta(minutes=5)
    assert planned(cron_job(suspend=True)).recheck_at is None


def test_a_job_carries_its_template_and_its_time() -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"completions": 1}}
    (create,) = actions(planned(cron_job(last=-300, jobTemplate=template)), Create)
    metadata = create.body["metadata"]
    assert metadata["labels"] == {"a": "b"}
    key = "batch.kubernetes.io/cronjob-scheduled-timestamp"
    assert metadata["annotations"] == {key: "2026-01-01T12:00:00Z"}
    assert create.body["spec"] == {"completions": 1}


def test_the_time_is_noted_in_the_lane_of_its_job() -> None:
    """A Job that could not be made is made later: its time does not count as served."""
    of = planned(cron_job(last=-300))
    (create,), (write,) = actions(of, Create), actions(of, WriteWorkloadStatus)
    assert create.lane == write.lane
    assert of.actions.index(create) < of.actions.index(write)
    assert write.status["lastScheduleTime"] == at()


def test_after_a_crash_the_job_is_not_made_again() -> None:
    of = planned(cron_job(last=-300), job_of_cron(name_at(0)))
    assert actions(of, Create) == []
    (write,) = actions(of, WriteWorkloadStatus)
    assert write.status["lastScheduleTime"] == at()


class TestConcurrency:
    def test_forbid_waits_for_the_job_that_runs(self) -> None:
        of = planned(cron_job(last=-300, concurrencyPolicy="Forbid"), job_of_cron("c-1"))
        assert actions(of, Create) == []
        assert "JobAlreadyActive" in reasons(of)

    def test_replace_deletes_it(self) -> None:
        of = planned(cron_job(last=-300, concurrencyPolicy="Replace"), job_of_cron("c-1"))
        assert [one.key.name for one in actions(of, Delete)] == ["c-1"]
        assert len(actions(of, Create)) == 1
        (write,) = actions(of, WriteWorkloadStatus)
        assert write.status["active"] is None

    def test_allow_runs_both(self) -> None:
        assert made(cron_job(last=-300), job_of_cron("c-1")) == [name_at(0)]


def test_a_success_is_noted_and_outlives_its_job() -> None:
    running = job_of_cron("c-1")
    done = job_of_cron("c-1", ended="Complete", started=-60)
    of = planned(cron_job(last=0, active=[running]), done)
    (write,) = actions(of, WriteWorkloadStatus)
    assert write.status["lastSuccessfulTime"] == at(-50)
    assert write.status["active"] is None
    assert "SawCompletedJob" in reasons(of)
    gone = planned(cron_job(last=0, active=[running]))
    assert "MissingJob" in reasons(gone)


def test_the_oldest_finished_jobs_beyond_the_limits_go() -> None:
    jobs = [
        *(job_of_cron(f"done-{one}", ended="Complete", started=-one) for one in range(5)),
        *(job_of_cron(f"failed-{one}", ended="Failed", started=-one) for one in range(3)),
        job_of_cron("running", started=-99),
    ]
    of = planned(cron_job(last=0), *jobs)
    assert {one.key.name for one in actions(of, Delete)} == {
        *("done-4", "done-3", "failed-2", "failed-1"),
    }


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"timeZone": "Nowhere/Else"}, "UnknownTimeZone"),
        ({"schedule": "never"}, "UnparseableSchedule"),
        ({"schedule": "* * * * *", "last": -7000}, "TooManyMissedTimes"),
    ],
)
def test_a_warning_says_what_is_wrong(fields: dict[str, Any], reason: str) -> None:
    assert reason in reasons(planned(cron_job(**fields)))
