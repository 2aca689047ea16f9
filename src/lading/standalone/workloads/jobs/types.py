"""What a Job's plan is made of. Pure."""

import msgspec

from lading.standalone.workloads.kinds import Job, Pod

FINALIZER = "batch.kubernetes.io/job-tracking"
"""It keeps a pod until the Job has counted it."""


class ObservedJob(msgspec.Struct, frozen=True, kw_only=True):
    job: Job | None
    pods: tuple[Pod, ...]
    """Those that the Job controls."""
    orphans: tuple[Pod, ...] = ()
    """Those of a Job of this name that is gone."""


class JobVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """How a Job ends."""

    succeeded: bool
    reason: str
    message: str
