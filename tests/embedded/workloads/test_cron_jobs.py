"""When a CronJob creates a Job, and which Jobs it keeps. It is 12:00:00 on the first of January."""

from datetime import timedelta
from typing import Any

import pytest

from lading.embedded.workloads.actions import Create, Delete, Patch
from lading.embedded.workloads.cron_jobs import ObservedCronJob, job_name, plan
from lading.embedded.workloads.kinds import CronJob, Job
from lading.kernel.planning import Plan, RecordEvent
from tests.embedded.workloads.builders import NOW, actions, at, cron_job, job_of_cron


def planned(one: CronJob, *jobs: Job) -> Plan:
    return plan(ObservedCronJob(cron_job=one, jobs=jobs), NOW)


def made(one: CronJob, *jobs: Job) -> list[str]:
    return [action.key.name for action in actions(planned(one, *jobs), Create)]


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
    (create,), (write,) = actions(of, Create), actions(of, Patch)
    assert create.lane == write.lane
    assert of.actions.index(create) < of.actions.index(write)
    assert write.body["status"]["lastScheduleTime"] == at()


def test_after_a_crash_the_job_is_not_made_again() -> None:
    of = planned(cron_job(last=-300), job_of_cron(name_at(0)))
    assert actions(of, Create) == []
    (write,) = actions(of, Patch)
    assert write.body["status"]["lastScheduleTime"] == at()


@pytest.mark.parametrize(
    ("policy", "expected"), [("Forbid", []), ("Replace", []), ("Allow", [name_at(0)])]
)
def test_while_a_job_runs_the_policy_decides(policy: str, expected: list[str]) -> None:
    assert made(cron_job(last=-300, concurrencyPolicy=policy), job_of_cron("c-1")) == expected


def test_a_success_is_noted() -> None:
    running = job_of_cron("c-1")
    done = job_of_cron("c-1", ended="Complete", started=-60)
    of = planned(cron_job(last=0, active=[running]), done)
    (write,) = actions(of, Patch)
    assert write.body["status"]["lastSuccessfulTime"] == at(-50)
    assert write.body["status"]["active"] is None


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


@pytest.mark.parametrize("fields", [{"timeZone": "Nowhere/Else"}, {"schedule": "never"}])
def test_an_event_reports_a_schedule_that_cannot_be_read(fields: dict[str, Any]) -> None:
    of = planned(cron_job(last=-300, **fields))
    assert [one.reason for one in actions(of, RecordEvent)] == ["UnparseableSchedule"]
    assert actions(of, Create) == []


def test_after_a_month_without_lading_up_one_job_starts() -> None:
    assert made(cron_job("@every 1s", last=-30 * 86_400)) == [name_at(0)]
