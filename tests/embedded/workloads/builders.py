"""Nodes, pods and workloads with defaults, so that every field written in a test matters to it."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from lading.embedded.workloads.kinds import (
    Condition,
    Container,
    ContainerState,
    ContainerStatus,
    CronJob,
    CronJobSpec,
    CronJobStatus,
    DaemonSet,
    DaemonSetSpec,
    ImageVolume,
    Job,
    JobSpec,
    JobStatus,
    Node,
    NodeSpec,
    NodeStatus,
    Pod,
    PodSpec,
    PodStatus,
    Taint,
    Terminated,
    Volume,
    VolumeMount,
)
from lading.embedded.workloads.pods import roles
from lading.kernel import conditions
from lading.kernel.conditions import Truth
from lading.kernel.objects import ObjectMeta
from lading.kernel.planning import Plan
from lading.ports import cri

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
OWN_IMAGE = cri.Image(id="sha256:own", size_bytes=1, repo_digests=("r.example/lading@sha256:1",))


def at(seconds: float = 0) -> str:
    """So many seconds from now, as Kubernetes writes it."""
    return conditions.timestamp(NOW + timedelta(seconds=seconds))


def actions(plan: Plan, kind: type) -> list[Any]:
    return [one for one in plan.actions if isinstance(one, kind)]


def node(name: str, *, ready: bool = True, taints: Iterable[Taint] = (), **labels: str) -> Node:
    condition = Condition(type="Ready", status=Truth.TRUE if ready else Truth.FALSE)
    return Node(
        metadata=ObjectMeta(name=name, labels=labels),
        spec=NodeSpec(taints=tuple(taints)),
        status=NodeStatus(conditions=(condition,)),
    )


def pod(
    name: str = "p",
    *,
    node: str = "",
    phase: str = "Pending",
    ready: bool = False,
    created: float = 0,
    deleted: bool = False,
    labels: Mapping[str, str] | None = None,
    statuses: tuple[ContainerStatus, ...] = (),
    **spec: Any,
) -> Pod:
    condition = Condition(
        type="Ready",
        status=Truth.TRUE if ready else Truth.FALSE,
        last_transition_time=at(),
    )
    spec.setdefault("containers", (Container(name="c", image="i"),))
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace="ns",
            uid=f"uid-{name}",
            resource_version="1",
            labels=dict(labels or {}),
            creation_timestamp=at(created),
            deletion_timestamp=at() if deleted else "",
        ),
        spec=PodSpec(node_name=node, **spec),
        status=PodStatus(phase=phase, conditions=(condition,), container_statuses=statuses),
    )


def daemon_set(*, surge: int | str = "100%", image: str = "i:1", **spec: Any) -> DaemonSet:
    strategy = {"rollingUpdate": {"maxSurge": surge}}
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": image}], **spec.pop("pod", {})},
    }
    body = {"updateStrategy": strategy, "template": template, **spec}
    return DaemonSet(
        metadata=ObjectMeta(name="d", namespace="ns", uid="uid-d", generation=1),
        spec=msgspec.convert(body, DaemonSetSpec),
    )


def job(*, status: JobStatus | None = None, **spec: Any) -> Job:
    """A Job that has started."""
    body = {"template": {"spec": {"restartPolicy": "Never"}}, **spec}
    return Job(
        metadata=ObjectMeta(name="j", namespace="ns", uid="uid-j", creation_timestamp=at(-60)),
        spec=msgspec.convert(body, JobSpec),
        status=status or JobStatus(start_time=at(-60)),
    )


def cron_job(
    schedule: str = "*/5 * * * *",
    *,
    created: float = -3600,
    last: float | None = None,
    active: Iterable[Job] = (),
    **spec: Any,
) -> CronJob:
    body = {"schedule": schedule, "jobTemplate": {"spec": {"completions": 1}}, **spec}
    listed = [{"name": one.metadata.name, "uid": one.metadata.uid} for one in active]
    status = {"active": listed, "lastScheduleTime": None if last is None else at(last)}
    return CronJob(
        metadata=ObjectMeta(name="c", namespace="ns", uid="uid-c", creation_timestamp=at(created)),
        spec=msgspec.convert(body, CronJobSpec),
        status=msgspec.convert(status, CronJobStatus),
    )


def job_of_cron(name: str, *, ended: str = "", started: float = -60) -> Job:
    """A Job of a CronJob; `ended` is Complete or Failed."""
    found = (Condition(type=ended, status=Truth.TRUE),) if ended else ()
    end = at(started + 10) if ended == "Complete" else None
    status = JobStatus(start_time=at(started), completion_time=end, conditions=found)
    return Job(metadata=ObjectMeta(name=name, namespace="ns", uid=f"uid-{name}"), status=status)


def holder(name: str = "held", image: str = "i:1", **fields: Any) -> Container:
    """Of the image itself."""
    return Container(name=name, image=image, command=("/lading-hold/hold",), **fields)


def volume_holder(name: str = "held") -> Container:
    """Of Lading's own image; it mounts the image of the volume of the same name."""
    mounts = (VolumeMount(name=name, mount_path="/image"),)
    return Container(name=name, image="lading", command=(roles.HOLD_PROGRAM,), volume_mounts=mounts)


def image_volume(reference: str = "i:1", name: str = "held") -> Volume:
    return Volume(name=name, image=ImageVolume(reference=reference))


def command(*args: str, image: str = "lading", **fields: Any) -> Container:
    """A container of Lading's own image."""
    return Container(name="lading", image=image, args=args, **fields)


def image(image_id: str = "sha256:1") -> cri.Image:
    return cri.Image(id=image_id, size_bytes=1, repo_digests=(f"r.example/i@{image_id}",))


def terminated(
    name: str = "c", *, exit_code: int = 0, ended: float = 0, **fields: Any
) -> ContainerStatus:
    end = Terminated(exit_code=exit_code, finished_at=at(ended))
    return ContainerStatus(name=name, state=ContainerState(terminated=end), **fields)
