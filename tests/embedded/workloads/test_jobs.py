"""How a Job runs its pods and ends."""

from datetime import timedelta
from typing import Any

import pytest

from lading.embedded.workloads.actions import Create, Patch
from lading.embedded.workloads.jobs import ObservedJob, plan
from lading.embedded.workloads.kinds import Condition, Job, JobStatus, Pod
from lading.kernel.conditions import Truth
from lading.kernel.planning import Plan
from tests.embedded.workloads.builders import NOW, actions, at, job, pod, terminated


def planned(one: Job, *pods: Pod) -> Plan:
    return plan(ObservedJob(job=one, pods=pods), NOW)


def failed(name: str = "p", *, exit_code: int = 1, ended: float = -60) -> Pod:
    status = terminated("main", exit_code=exit_code, ended=ended)
    return pod(name, phase="Failed", statuses=(status,))


def status_of(made: Plan) -> dict[str, Any]:
    (write,) = actions(made, Patch)
    return dict(write.body["status"])


def verdicts(made: Plan) -> list[tuple[str, str]]:
    found = status_of(made)["conditions"] or ()
    return [(one["type"], one["reason"]) for one in found]


def test_a_job_writes_its_start_time_before_it_creates_a_pod() -> None:
    made = planned(job(status=JobStatus()))
    assert status_of(made)["startTime"] == at()
    assert actions(made, Create) == []


def test_a_job_runs_one_pod() -> None:
    (create,) = actions(planned(job()), Create)
    assert create.body["metadata"]["ownerReferences"][0]["uid"] == "uid-j"
    made = planned(job(), pod("p", phase="Running", ready=True))
    assert actions(made, Create) == []
    assert (status_of(made)["active"], status_of(made)["ready"]) == (1, 1)


def test_a_job_waits_for_the_end_of_a_deleted_pod() -> None:
    made = planned(job(), pod("p", phase="Running", deleted=True))
    assert made.actions == ()


def test_a_job_is_complete_when_its_pod_has_succeeded() -> None:
    made = planned(job(), pod("p", phase="Succeeded"))
    assert verdicts(made) == [
        ("SuccessCriteriaMet", "CompletionsReached"),
        ("Complete", "CompletionsReached"),
    ]
    assert (status_of(made)["completionTime"], status_of(made)["succeeded"]) == (at(), 1)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        pytest.param(0, ["FailureTarget", "Failed"], id="no retry is left"),
        pytest.param(1, [], id="one retry is left"),
    ],
)
def test_failures_are_counted_against_the_limit(limit: int, expected: list[str]) -> None:
    made = planned(job(backoffLimit=limit), failed())
    assert verdicts(made) == [(one, "BackoffLimitExceeded") for one in expected]
    assert (status_of(made)["failed"], status_of(made)["completionTime"]) == (1, None)


def test_a_failed_pod_that_was_deleted_still_counts() -> None:
    status = JobStatus(start_time=at(-60), failed=1)
    assert verdicts(planned(job(backoffLimit=0, status=status)))
    assert len(actions(planned(job(status=status)), Create)) == 1


def test_the_next_pod_waits_ten_seconds_after_a_failure() -> None:
    soon = planned(job(), failed(ended=-9))
    assert actions(soon, Create) == []
    assert soon.recheck_at == NOW + timedelta(seconds=1)
    (create,) = actions(planned(job(), failed(ended=-10)), Create)
    assert create.key.name != "p"


def test_the_failure_policy_ends_the_job_at_some_exit_codes() -> None:
    rules = [
        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [2, 3]}},
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
    ]
    made = planned(job(podFailurePolicy={"rules": rules}), failed(exit_code=3))
    assert verdicts(made) == [
        ("FailureTarget", "PodFailurePolicy"),
        ("Failed", "PodFailurePolicy"),
    ]
    assert status_of(made)["conditions"][0]["message"] == (
        "Container main for pod ns/p failed with exit code 3 matching FailJob rule at index 0"
    )
    assert verdicts(planned(job(podFailurePolicy={"rules": rules}), failed(exit_code=4))) == []


def test_a_finished_job_does_nothing_more() -> None:
    complete = Condition(type="Complete", status=Truth.TRUE)
    ended = job(status=JobStatus(conditions=(complete,)))
    assert planned(ended, pod("p", phase="Succeeded")) == Plan()
