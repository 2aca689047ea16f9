"""How a Job runs its pods and ends."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest

from lading.kernel.conditions import Truth
from lading.kernel.planning import Plan
from lading.kernel.values import replace
from lading.standalone.workloads.actions import Create, Delete, RemoveFinalizer, WriteWorkloadStatus
from lading.standalone.workloads.jobs.plan import plan
from lading.standalone.workloads.jobs.types import FINALIZER, ObservedJob
from lading.standalone.workloads.kinds import Condition, Job, JobStatus, Pod, Uncounted
from tests.standalone.workloads.builders import NOW, actions, at, job, pod, terminated


def planned(one: Job, *pods: Pod) -> Plan:
    return plan(ObservedJob(job=one, pods=pods), NOW)


def tracked(name: str, phase: str, **fields: Any) -> Pod:
    return pod(name, phase=phase, finalizers=(FINALIZER,), **fields)


def failed(name: str = "p", *, exit_code: int = 1, ended: float = -60) -> Pod:
    status = terminated("main", exit_code=exit_code, ended=ended)
    return tracked(name, "Failed", statuses=(status,))


def status_of(made: Plan) -> dict[str, Any]:
    (write,) = actions(made, WriteWorkloadStatus)
    return dict(write.status)


def verdicts(made: Plan) -> list[tuple[str, str]]:
    found = status_of(made)["conditions"] or ()
    return [(one["type"], one["reason"]) for one in found]


def counted(
    *, succeeded: Iterable[str] = (), failed: Iterable[str] = (), **fields: Any
) -> JobStatus:
    uncounted = Uncounted(succeeded=tuple(succeeded), failed=tuple(failed))
    return JobStatus(start_time=at(-60), uncounted_terminated_pods=uncounted, **fields)


def test_a_job_starts_its_clock_before_its_pod() -> None:
    made = planned(job(status=JobStatus()))
    assert status_of(made)["startTime"] == at()
    assert actions(made, Create) == []


def test_a_job_makes_one_pod_that_it_tracks() -> None:
    (create,) = actions(planned(job()), Create)
    metadata = create.body["metadata"]
    assert metadata["finalizers"] == [FINALIZER]
    assert metadata["ownerReferences"][0]["uid"] == "uid-j"
    assert actions(planned(job(), tracked("p", "Running")), Create) == []


def test_a_pod_is_noted_before_its_finalizer_goes_and_counted_afterwards() -> None:
    done = tracked("p", "Succeeded")
    first = planned(job(), done)
    assert status_of(first)["uncountedTerminatedPods"]["succeeded"] == ["uid-p"]
    assert status_of(first)["succeeded"] is None
    assert actions(first, RemoveFinalizer) == []
    noted = job(status=counted(succeeded=["uid-p"]))
    second = planned(noted, done)
    assert [one.finalizers for one in actions(second, RemoveFinalizer)] == [()]
    third = planned(noted, pod("p", phase="Succeeded"))
    assert status_of(third)["uncountedTerminatedPods"]["succeeded"] is None
    assert status_of(third)["succeeded"] == 1


def test_a_job_is_complete_only_when_its_pod_is_counted() -> None:
    first = planned(job(), tracked("p", "Succeeded"))
    assert verdicts(first) == [("SuccessCriteriaMet", "CompletionsReached")]
    last = planned(job(status=counted(succeeded=["uid-p"])))
    assert verdicts(last) == [
        ("SuccessCriteriaMet", "CompletionsReached"),
        ("Complete", "CompletionsReached"),
    ]
    assert status_of(last)["completionTime"] == at()


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        pytest.param(0, [("FailureTarget", "BackoffLimitExceeded")], id="no retry is left"),
        pytest.param(1, [], id="one retry is left"),
    ],
)
def test_failures_are_counted_against_the_limit(
    limit: int, expected: list[tuple[str, str]]
) -> None:
    assert verdicts(planned(job(backoffLimit=limit), failed())) == expected


def test_the_next_pod_waits_ten_seconds_after_a_failure() -> None:
    one = job(status=counted(failed=["uid-p"]))
    soon = planned(one, failed(ended=-9))
    assert actions(soon, Create) == []
    assert soon.recheck_at == NOW + timedelta(seconds=1)
    assert len(actions(planned(one, failed(ended=-10)), Create)) == 1


def test_restarts_in_place_count_too() -> None:
    template = {"spec": {"restartPolicy": "OnFailure"}}
    one = job(template=template, backoffLimit=2)
    restarted = tracked("p", "Running", statuses=(terminated("main", restart_count=2),))
    made = planned(one, restarted)
    assert verdicts(made) == [("FailureTarget", "BackoffLimitExceeded")]
    assert [delete.key.name for delete in actions(made, Delete)] == ["p"]


def test_a_job_that_is_active_for_too_long_stops_its_pod() -> None:
    made = planned(job(activeDeadlineSeconds=60), tracked("p", "Running"))
    assert verdicts(made) == [("FailureTarget", "DeadlineExceeded")]
    assert [delete.key.name for delete in actions(made, Delete)] == ["p"]
    early = planned(job(activeDeadlineSeconds=61), tracked("p", "Running"))
    assert early.recheck_at == NOW + timedelta(seconds=1)


def test_a_pod_that_is_deleted_counts_as_failed() -> None:
    made = planned(job(), tracked("p", "Running", deleted=True))
    assert status_of(made)["uncountedTerminatedPods"]["failed"] == ["uid-p"]


class TestFailurePolicy:
    RULES = (
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [3]}},
    )

    def test_an_exit_code_ends_the_job(self) -> None:
        made = planned(job(podFailurePolicy={"rules": self.RULES}), failed(exit_code=3))
        assert verdicts(made) == [("FailureTarget", "PodFailurePolicy")]
        assert status_of(made)["conditions"][0]["message"] == (
            "Container main for pod ns/p failed with exit code 3 matching FailJob rule at index 1"
        )

    def test_another_exit_code_counts(self) -> None:
        made = planned(job(podFailurePolicy={"rules": self.RULES}), failed(exit_code=4))
        assert status_of(made)["uncountedTerminatedPods"]["failed"] == ["uid-p"]

    def test_an_evicted_pod_is_ignored_and_followed_by_another(self) -> None:
        evicted = replace(
            failed(exit_code=3),
            status=replace(
                failed(exit_code=3).status,
                conditions=(Condition(type="DisruptionTarget", status=Truth.TRUE),),
            ),
        )
        made = planned(job(podFailurePolicy={"rules": self.RULES}, backoffLimit=0), evicted)
        assert [one.because for one in actions(made, RemoveFinalizer)] == [
            "the Job does not count its failure"
        ]
        (create,) = actions(made, Create)
        assert create.key.name != "p"


class TestSuspend:
    def test_a_suspended_job_stops_its_pods_and_its_clock(self) -> None:
        made = planned(job(suspend=True), tracked("p", "Running"))
        assert verdicts(made) == [("Suspended", "JobSuspended")]
        assert status_of(made)["startTime"] is None
        assert [one.key.name for one in actions(made, Delete)] == ["p"]


class TestFinished:
    def ended(self, seconds_ago: float, **spec: Any) -> Job:
        complete = Condition(
            type="Complete", status=Truth.TRUE, last_transition_time=at(-seconds_ago)
        )
        return job(status=JobStatus(conditions=(complete,)), **spec)

    def test_a_finished_job_does_nothing_more(self) -> None:
        assert planned(self.ended(99), pod("p", phase="Succeeded")) == Plan()

    def test_it_goes_when_its_time_to_live_is_over(self) -> None:
        early = planned(self.ended(29, ttlSecondsAfterFinished=30))
        assert (early.actions, early.recheck_at) == ((), NOW + timedelta(seconds=1))
        (delete,) = actions(planned(self.ended(30, ttlSecondsAfterFinished=30)), Delete)
        assert (delete.uid, delete.propagation) == ("uid-j", "Foreground")


def test_pods_of_a_job_that_is_gone_are_released() -> None:
    orphan = tracked("p", "Running", deleted=True)
    made = plan(ObservedJob(job=None, pods=(), orphans=(orphan,)), NOW)
    assert [one.key.name for one in actions(made, RemoveFinalizer)] == ["p"]
