"""How a node runs a pod, step by step."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from lading.embedded.workloads.actions import Delete, Patch
from lading.embedded.workloads.kinds import (
    Container,
    ContainerStatus,
    EnvironmentVariable,
    Pod,
    PodStatus,
)
from lading.embedded.workloads.pods import containers
from lading.embedded.workloads.pods.inputs import SourceKind, ValueSource
from lading.embedded.workloads.pods.plan import plan
from lading.embedded.workloads.pods.types import (
    DeclareContainers,
    ObservedPod,
    ProcessRecord,
    PullPhase,
    PullRecord,
    RequestPull,
    StartProcess,
    StopPod,
)
from lading.kernel.planning import Plan, RecordEvent
from lading.kernel.values import replace
from lading.ports import cri
from tests.embedded.workloads.builders import (
    NOW,
    OWN_IMAGE,
    actions,
    at,
    command,
    holder,
    image,
    image_volume,
    pod,
    terminated,
    volume_holder,
)

OWN = frozenset({OWN_IMAGE.id})
MOUNTED = {"lading": OWN_IMAGE, "i:1": image()}
"""Lading's own image, and the one that its container mounts."""


def planned(one: Pod | None, **fields: Any) -> Plan:
    return plan(ObservedPod(pod=one, own_images=OWN, **fields), NOW)


def written(of: Plan) -> PodStatus:
    """The status that the plan writes, as the next observation reads it."""
    (write,) = actions(of, Patch)
    return msgspec.convert(without_nulls(write.body["status"]), PodStatus)


def without_nulls(value: Any) -> Any:
    """As a merge leaves it."""
    match value:
        case dict():
            return {key: without_nulls(one) for key, one in value.items() if one is not None}
        case list() | tuple():
            return [without_nulls(one) for one in value]
    return value


def after(one: Pod, of: Plan) -> Pod:
    return replace(one, status=written(of))


def waiting_reason(of: Plan, name: str = "held") -> str:
    status = written(of)
    known = (*status.init_container_statuses, *status.container_statuses)
    (found,) = [one for one in known if one.name == name]
    assert found.state.waiting is not None, found
    return found.state.waiting.reason


def failed_pull(*, seconds_ago: float, failures: int = 1) -> PullRecord:
    ended = NOW - timedelta(seconds=seconds_ago)
    return PullRecord(
        phase=PullPhase.FAILED,
        failures=failures,
        message="not found",
        ended_at=ended,
        retry_at=ended + timedelta(seconds=10),
    )


def process(one: Pod, *, exit_code: int | None = None, restarts: int = 0) -> ProcessRecord:
    return ProcessRecord(
        container_id=containers.container_id(one, "lading", restarts),
        started_at=NOW - timedelta(seconds=5),
        exit_code=exit_code,
        finished_at=None if exit_code is None else NOW,
        output="the last words\n",
    )


class TestPulls:
    def test_the_image_of_the_first_container_is_pulled_first(self) -> None:
        one = pod(node="n", containers=(holder("a", "i:1"), holder("b", "i:2")))
        assert [pull.image for pull in actions(planned(one), RequestPull)] == ["i:1"]
        under_way = {"i:1": PullRecord(phase=PullPhase.WAITING)}
        assert [pull.image for pull in actions(planned(one, pulls=under_way), RequestPull)] == [
            "i:2"
        ]

    def test_init_containers_come_before_all_others(self) -> None:
        one = pod(node="n", init_containers=(command(),), containers=(holder(),))
        of = planned(one)
        assert [pull.image for pull in actions(of, RequestPull)] == ["lading"]
        assert waiting_reason(of) == "PodInitializing"

    def test_an_image_that_is_there_is_not_pulled(self) -> None:
        one = pod(node="n", containers=(holder(),))
        assert actions(planned(one, present={"i:1": image()}), RequestPull) == []

    def test_never_waits_with_a_reason(self) -> None:
        one = pod(node="n", containers=(holder(image_pull_policy="Never"),))
        of = planned(one)
        assert actions(of, RequestPull) == []
        assert waiting_reason(of) == "ErrImageNeverPull"

    def test_a_name_that_is_no_reference_is_not_pulled(self) -> None:
        one = pod(node="n", containers=(holder(image="UPPER//x"),))
        of = planned(one)
        assert actions(of, RequestPull) == []
        assert waiting_reason(of) == "InvalidImageName"
        assert [event.reason for event in actions(of, RecordEvent)] == ["Failed"]

    def test_a_failure_is_shown_and_then_its_back_off(self) -> None:
        one = pod(node="n", containers=(holder(),))
        fresh = planned(one, pulls={"i:1": failed_pull(seconds_ago=1)})
        assert waiting_reason(fresh) == "ErrImagePull"
        assert fresh.recheck_at == NOW + timedelta(seconds=1)
        later = planned(one, pulls={"i:1": failed_pull(seconds_ago=5)})
        assert waiting_reason(later) == "ImagePullBackOff"
        assert later.recheck_at == NOW + timedelta(seconds=5)
        over = planned(one, pulls={"i:1": failed_pull(seconds_ago=10)})
        assert [pull.image for pull in actions(over, RequestPull)] == ["i:1"]

    def test_a_failure_lets_the_other_containers_pass(self) -> None:
        one = pod(node="n", containers=(holder("a", "i:1"), holder("b", "i:2")))
        of = planned(one, pulls={"i:1": failed_pull(seconds_ago=5)}, present={"i:2": image()})
        assert [status.ready for status in written(of).container_statuses] == [False, True]
        assert written(of).phase == "Pending"


class TestHolders:
    def test_its_init_container_succeeds_and_then_it_is_ready(self) -> None:
        copier = Container(name="copy-hold", image="lading", command=("cp", "a", "b"))
        one = pod(node="n", init_containers=(copier,), containers=(holder(),))
        status = written(planned(one, present={"lading": OWN_IMAGE, "i:1": image()}))
        (init,) = status.init_container_statuses
        assert init.state.terminated is not None
        assert init.state.terminated.exit_code == 0
        assert (status.phase, status.container_statuses[0].ready) == ("Running", True)
        assert {one.type: str(one.status) for one in status.conditions} == {
            "PodReadyToStartContainers": "True",
            "Initialized": "True",
            "ContainersReady": "True",
            "Ready": "True",
        }

    def test_one_that_mounts_images_pulls_them_before_its_own(self) -> None:
        one = pod(node="n", containers=(volume_holder(),), volumes=(image_volume(),))
        assert [pull.image for pull in actions(planned(one), RequestPull)] == ["i:1"]
        then = planned(one, present={"i:1": image()})
        assert [pull.image for pull in actions(then, RequestPull)] == ["lading"]
        (status,) = written(both := planned(one, present=MOUNTED)).container_statuses
        assert (status.ready, status.image_id) == (True, OWN_IMAGE.repo_digests[0])
        (declare,) = actions(both, DeclareContainers)
        (container,) = declare.containers
        assert container.image_volumes == (cri.ImageSpec(image=image().id),)

    def test_one_that_mounts_images_is_not_ready_while_one_is_gone(self) -> None:
        one = pod(node="n", containers=(volume_holder(),), volumes=(image_volume(),))
        one = after(one, planned(one, present=MOUNTED))
        (status,) = written(planned(one, present={"lading": OWN_IMAGE})).container_statuses
        assert (status.ready, status.state.running is not None) == (False, True)

    def test_a_volume_that_cannot_be_pulled_shows_at_the_container_that_mounts_it(self) -> None:
        containers = (volume_holder("a"), volume_holder("b"))
        volumes = (image_volume("i:1", "a"), image_volume("i:2", "b"))
        one = pod(node="n", containers=containers, volumes=volumes)
        present = {"lading": OWN_IMAGE, "i:2": image()}
        of = planned(one, pulls={"i:1": failed_pull(seconds_ago=5)}, present=present)
        first, second = written(of).container_statuses
        assert first.state.waiting is not None
        assert first.state.waiting.message.startswith('Back-off pulling image "i:1": ')
        assert second.ready
        (event,) = actions(of, RecordEvent)
        assert event.reason == "BackOff"
        assert 'Back-off pulling image "i:1"' in event.because

    def test_another_image_with_the_same_command_is_not_run(self) -> None:
        one = pod(node="n", containers=(volume_holder(),), volumes=(image_volume(),))
        other = {"i:1": image(), "lading": image("sha256:other")}
        assert waiting_reason(planned(one, present=other)) == "NotRunStandalone"

    def test_it_is_not_ready_while_its_image_is_gone(self) -> None:
        one = pod(node="n", containers=(holder(),))
        one = after(one, planned(one, present={"i:1": image()}))
        of = planned(one)
        (status,) = written(of).container_statuses
        assert (status.ready, status.state.running is not None) == (False, True)
        assert of.recheck_at == NOW + timedelta(seconds=10)

    def test_a_steady_pod_writes_nothing(self) -> None:
        one = pod(node="n", containers=(holder(),))
        present = {"i:1": image()}
        of = planned(one, present=present)
        (declared,) = actions(of, DeclareContainers)
        steady = planned(after(one, of), present=present, declared=declared.containers)
        assert steady.actions == ()

    def test_the_condition_of_another_writer_is_left_alone(self) -> None:
        (write,) = actions(planned(pod(node="n", containers=(holder(),))), Patch)
        types = {one["type"] for one in write.body["status"]["conditions"]}
        assert "lading.dev/ImagesPresent" not in types


class TestDeclarations:
    def test_a_container_is_in_use_from_when_its_image_is_there(self) -> None:
        one = pod(node="n", init_containers=(command(),), containers=(holder(),))
        (declare,) = actions(planned(one, present={"i:1": image("sha256:2")}), DeclareContainers)
        (container,) = declare.containers
        assert (container.name, container.image_id) == ("held", "sha256:2")
        assert container.state is cri.ContainerState.CREATED

    def test_a_container_that_ended_keeps_its_image_while_the_pod_is_there(self) -> None:
        statuses = (terminated("lading"),)
        one = pod(node="n", phase="Succeeded", containers=(command(),), statuses=statuses)
        (declare,) = actions(planned(one, present={"lading": OWN_IMAGE}), DeclareContainers)
        assert [container.state for container in declare.containers] == [cri.ContainerState.EXITED]


class TestProcesses:
    def test_a_lading_command_is_started_when_its_image_is_there(self) -> None:
        one = pod(node="n", containers=(command("prune", "images"),), restart_policy="Never")
        (start,) = actions(planned(one, present={"lading": OWN_IMAGE}), StartProcess)
        assert start.inputs.arguments == ("prune", "images")

    def test_it_is_not_ready_before_its_process_exists(self) -> None:
        one = pod(node="n", containers=(command(),))
        requested = replace(process(one), started_at=None)
        of = planned(one, present={"lading": OWN_IMAGE}, processes={"lading": requested})
        assert actions(of, StartProcess) == []
        (status,) = written(of).container_statuses
        assert status.state.waiting is not None
        assert (status.ready, status.state.waiting.reason) == (False, "ContainerCreating")

    def test_its_end_is_reported_with_code_and_output(self) -> None:
        one = pod(node="n", containers=(command(),), restart_policy="Never")
        records = {"lading": process(one, exit_code=3)}
        status = written(planned(one, present={"lading": OWN_IMAGE}, processes=records))
        ended = status.container_statuses[0].state.terminated
        assert ended is not None
        assert (ended.exit_code, ended.message) == (3, "the last words\n")
        assert status.phase == "Failed"

    @pytest.mark.parametrize(
        ("policy", "exit_code", "phase"),
        [
            ("Never", 0, "Succeeded"),
            ("Never", 1, "Failed"),
            ("OnFailure", 0, "Succeeded"),
            ("OnFailure", 1, "Running"),
            ("Always", 0, "Running"),
        ],
    )
    def test_the_restart_policy_decides_the_phase(
        self, policy: str, exit_code: int, phase: str
    ) -> None:
        one = pod(node="n", containers=(command(),), restart_policy=policy)
        present = {"lading": OWN_IMAGE}
        one = after(one, planned(one, present=present, processes={"lading": process(one)}))
        ended = {"lading": process(one, exit_code=exit_code)}
        assert written(planned(one, present=present, processes=ended)).phase == phase

    def test_a_container_that_ended_with_lading_up_is_lost(self) -> None:
        one = pod(node="n", containers=(command(),), restart_policy="Never")
        present = {"lading": OWN_IMAGE}
        one = after(one, planned(one, present=present, processes={"lading": process(one)}))
        status = written(planned(one, present=present))
        ended = status.container_statuses[0].state.terminated
        assert ended is not None
        assert (ended.exit_code, ended.reason) == (137, "ContainerStatusUnknown")
        assert status.phase == "Failed"

    def test_restarts_wait_longer_each_time(self) -> None:
        last = terminated("lading", exit_code=1, ended=-9).state
        before = ContainerStatus(name="lading", restart_count=2, last_state=last)
        one = pod(node="n", containers=(command(),), statuses=(before,))
        of = planned(one, present={"lading": OWN_IMAGE})
        assert waiting_reason(of, "lading") == "CrashLoopBackOff"
        assert of.recheck_at == NOW + timedelta(seconds=1)

    def test_any_other_container_is_not_run_and_says_so(self) -> None:
        others = (
            Container(name="a", image="i:1"),
            Container(name="b", image="lading", command=("sh", "-c", "true")),
        )
        one = pod(node="n", containers=others)
        of = planned(one, present={"i:1": image(), "lading": OWN_IMAGE})
        assert [waiting_reason(of, name) for name in ("a", "b")] == ["NotRunStandalone"] * 2
        assert actions(of, StartProcess) == []

    def test_a_command_with_a_variable_of_another_kind_is_not_run(self) -> None:
        variable = EnvironmentVariable(name="MEMORY", value_from={"resourceFieldRef": {}})
        one = pod(node="n", containers=(command("prune", env=(variable,)),))
        of = planned(one, present={"lading": OWN_IMAGE})
        assert actions(of, StartProcess) == []
        assert waiting_reason(of, "lading") == "NotRunStandalone"
        (status,) = written(of).container_statuses
        assert status.state.waiting is not None
        assert status.state.waiting.message.endswith(": variable MEMORY.")

    def test_a_command_waits_for_its_secret_and_gets_it(self) -> None:
        given = {"secretRef": {"name": "s"}}
        one = pod(node="n", containers=(command("prune", env_from=(given,)),))
        of = planned(one, present={"lading": OWN_IMAGE})
        assert actions(of, StartProcess) == []
        assert waiting_reason(of, "lading") == "CreateContainerConfigError"
        assert of.recheck_at == NOW + timedelta(seconds=2)
        assert [(event.reason, event.because) for event in actions(of, RecordEvent)] == [
            ("Failed", 'Error: CreateContainerConfigError: secret "s" not found')
        ]
        values = {ValueSource(SourceKind.SECRET, "s"): {"TOKEN": b"v"}}
        later = planned(after(one, of), present={"lading": OWN_IMAGE}, values=values)
        (start,) = actions(later, StartProcess)
        assert start.inputs.environment == {"TOKEN": "v"}
        assert "TOKEN" not in repr(start), "a log shows the action"


class TestDeletion:
    def test_processes_end_before_the_object_goes(self) -> None:
        one = pod(node="n", containers=(command(),), deleted=True)
        of = planned(one, processes={"lading": process(one)})
        assert [type(action) for action in of.actions] == [StopPod]

    def test_then_the_status_says_how_and_the_object_goes(self) -> None:
        before = pod(node="n", containers=(command(),), restart_policy="Never")
        present = {"lading": OWN_IMAGE}
        running = {"lading": process(before)}
        status = written(planned(before, present=present, processes=running))
        one = replace(
            pod(node="n", containers=(command(),), restart_policy="Never", deleted=True),
            status=status,
        )
        of = planned(one, present=present, processes={"lading": process(one, exit_code=143)})
        assert written(of).phase == "Failed"
        (delete,) = actions(of, Delete)
        assert (delete.uid, delete.grace_seconds) == ("uid-p", 0)
        assert of.actions.index(delete) > of.actions.index(actions(of, Patch)[0])

    def test_what_another_pod_of_the_name_left_is_stopped(self) -> None:
        assert [one.uid for one in actions(planned(None, strays=("old",)), StopPod)] == ["old"]


def test_times_of_conditions_move_only_with_their_status() -> None:
    one = pod(node="n", containers=(holder(),))
    one = after(one, planned(one))
    of = plan(
        ObservedPod(pod=one, own_images=OWN, present={"i:1": image()}), NOW + timedelta(seconds=60)
    )
    times = {one.type: one.last_transition_time for one in written(of).conditions}
    assert times["Initialized"] == at()
    assert times["Ready"] == at(60)
