"""What a Job's plan is made of. Pure."""

from dataclasses import dataclass

from lading.standalone.workloads.kinds import Job, Pod

FINALIZER = "batch.kubernetes.io/job-tracking"
"""It keeps a pod until the Job has counted it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedJob:
    job: Job | None
    pods: tuple[Pod, ...]
    """Those that the Job controls."""
    orphans: tuple[Pod, ...] = ()
    """Those of a Job of this name that is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobVerdict:
    """How a Job ends."""

    succeeded: bool
    reason: str
    message: str
