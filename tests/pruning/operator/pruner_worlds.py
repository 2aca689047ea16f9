"""Objects around an ImagePruner, with defaults: every field written in a test matters."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from lading.api.core import CronJob, Job, Pod
from lading.api.imageregistry import PruneRun, StoredImagePruner
from lading.api.rbac import ClusterRoleBinding, ServiceAccount
from lading.kernel import conditions
from lading.kernel.planning import LastWrite
from lading.kernel.values import replace
from lading.pruning.operator import plan as planning
from lading.pruning.operator.types import (
    CreateObject,
    ObservedPruner,
    PrunerSettings,
    WritePrunerStatus,
)

NAMESPACE = "lading-system"
IMAGE = "registry.example.com/lading:1"
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
CRON_JOB_UID = "uid-of-cron-job"
SETTINGS = PrunerSettings()
TYPES: dict[str, Any] = {
    "ServiceAccount": ServiceAccount,
    "ClusterRoleBinding": ClusterRoleBinding,
    "CronJob": CronJob,
}


def text(at: datetime) -> str:
    return conditions.timestamp(at)


def pruner(spec: Any = None, *, status: Any = None, **metadata: Any) -> StoredImagePruner:
    shown = {
        "name": "cluster",
        "uid": "uid-of-pruner",
        "resourceVersion": "1",
        "generation": 1,
        **metadata,
    }
    body = {"metadata": shown, "spec": spec or {}, "status": status or {}}
    return msgspec.convert(body, StoredImagePruner)


def stored(body: Any, **more: Any) -> Any:
    """As the API server shows it after a create."""
    uid = CRON_JOB_UID if body["kind"] == "CronJob" else f"uid-of-{body['kind']}"
    metadata = {**body["metadata"], "uid": uid, "resourceVersion": "5"}
    return msgspec.convert({**body, "metadata": metadata, **more}, TYPES[body["kind"]])


def observed(spec: Any = None, **more: Any) -> ObservedPruner:
    usual: dict[str, Any] = {
        "namespace": NAMESPACE,
        "pruner": pruner(spec),
        "decision": "NewCluster",
        "own_image": IMAGE,
    }
    return ObservedPruner(**{**usual, **more})


def settled(spec: Any = None, *, now: datetime = NOW, **more: Any) -> ObservedPruner:
    """With the objects that the plan wants, written by this process; the status is not."""
    seen = observed(spec, **more)
    made = [
        stored(one.body)
        for one in planning.plan(seen, SETTINGS, now).plan.actions
        if isinstance(one, CreateObject) and one.body["kind"] in TYPES
    ]
    cron_job = next(one for one in made if isinstance(one, CronJob))
    return replace(
        seen,
        account=next(one for one in made if isinstance(one, ServiceAccount)),
        bindings={one.metadata.name: one for one in made if isinstance(one, ClusterRoleBinding)},
        cron_job=cron_job,
        writes=accepted_write(cron_job),
        has_report_map=True,
    )


def accepted_write(cron_job: CronJob) -> dict[str, LastWrite]:
    return {planning.CRON_JOB: LastWrite(body={}, at=NOW, answer=cron_job)}


def reported(seen: ObservedPruner, *, now: datetime = NOW) -> ObservedPruner:
    """With the status that the plan writes."""
    actions = planning.plan(seen, SETTINGS, now).plan.actions
    written = [one for one in actions if isinstance(one, WritePrunerStatus)]
    if not written:
        return seen
    assert seen.pruner is not None
    status = {**seen.pruner.status, **msgspec.to_builtins(written[0].status)}
    found = pruner(seen.pruner.spec, status=status)
    return replace(seen, pruner=found)


def job(
    name: str = "lading-image-pruner-1",
    *,
    failed: str | None = None,
    active: bool = False,
    owner: str = CRON_JOB_UID,
    start: datetime = NOW - timedelta(minutes=10),
    end: datetime = NOW - timedelta(minutes=5),
) -> Job:
    metadata = {
        "name": name,
        "creationTimestamp": text(start),
        "ownerReferences": [
            {
                "apiVersion": "batch/v1",
                "kind": "CronJob",
                "name": "lading-image-pruner",
                "uid": owner,
                "controller": True,
            }
        ],
    }
    status: dict[str, Any] = {"startTime": text(start)}
    if failed is not None:
        condition = {"type": "Failed", "message": failed, "reason": "BackoffLimitExceeded"}
        status["conditions"] = [{**condition, "status": "True", "lastTransitionTime": text(end)}]
    elif not active:
        status["completionTime"] = text(end)
        status["conditions"] = [{"type": "Complete", "status": "True"}]
    return msgspec.convert({"metadata": metadata, "status": status}, Job)


def pod(job_name: str = "lading-image-pruner-1", **terminated: Any) -> Pod:
    labels = {"batch.kubernetes.io/job-name": job_name}
    container = {"name": "imagestreams", "state": {"terminated": terminated}}
    return msgspec.convert(
        {
            "metadata": {"name": f"{job_name}-abcde", "labels": labels},
            "status": {"containerStatuses": [container]},
        },
        Pod,
    )


def run(job_name: str = "lading-image-pruner-1", **more: Any) -> PruneRun:
    return PruneRun(**{"name": "imagestreams", "job": job_name, "phase": "Succeeded", **more})


def arguments(cron_job: Any, container: int = 0) -> list[str]:
    spec = cron_job["spec"] if isinstance(cron_job, dict) else cron_job.spec
    pod_spec = spec["jobTemplate"]["spec"]["template"]["spec"]
    found: list[str] = pod_spec["containers"][container]["args"]
    return found
