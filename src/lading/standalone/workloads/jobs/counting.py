"""How a Job counts its pods. Pure.

A pod carries a finalizer until it is counted: first its UID is written into the status, then the
finalizer goes, then the counter takes the UID's place. Cut off anywhere, no pod is lost or counted
twice.
"""

import msgspec

from lading.standalone.workloads.jobs import failures
from lading.standalone.workloads.jobs.types import FINALIZER
from lading.standalone.workloads.kinds import Job, Pod, Uncounted


class Count(msgspec.Struct, frozen=True, kw_only=True):
    """The pods of a Job, sorted into what they mean for it."""

    active: tuple[Pod, ...]
    terminating: int
    ignored: tuple[Pod, ...]
    """Failed pods that the policy does not count."""
    uncounted: Uncounted
    succeeded: int
    failed: int
    """As the status counts them, without the uncounted ones."""
    fails_job: str

    @property
    def succeeded_in_all(self) -> int:
        return self.succeeded + len(self.uncounted.succeeded)

    @property
    def failed_in_all(self) -> int:
        return self.failed + len(self.uncounted.failed)

    @property
    def is_settled(self) -> bool:
        """Every pod has ended and is counted."""
        open_ = self.active or self.terminating
        return not open_ and self.uncounted == Uncounted()


def counted(job: Job, pods: tuple[Pod, ...]) -> Count:
    before = job.status.uncounted_terminated_pods
    tracked = {pod.metadata.uid: pod for pod in pods if FINALIZER in pod.metadata.finalizers}
    judged = {
        uid: failures.judge(job.spec.pod_failure_policy, pod)
        for uid, pod in tracked.items()
        if _has_failed(job, pod)
    }
    done = {uid for uid, pod in tracked.items() if pod.status.phase == "Succeeded"}
    failed = {uid for uid, one in judged.items() if one.counts}
    live = [pod for uid, pod in tracked.items() if uid not in done and uid not in judged]
    return Count(
        active=tuple(
            sorted(
                (pod for pod in live if not pod.metadata.deletion_timestamp),
                key=lambda pod: (pod.metadata.creation_timestamp, pod.metadata.name),
            )
        ),
        terminating=sum(
            bool(pod.metadata.deletion_timestamp) and not pod.is_finished
            for pod in tracked.values()
        ),
        ignored=tuple(tracked[uid] for uid, one in judged.items() if not one.counts),
        uncounted=Uncounted(
            succeeded=tuple(sorted({*before.succeeded} & tracked.keys() | done)),
            failed=tuple(sorted({*before.failed} & tracked.keys() | failed)),
        ),
        succeeded=job.status.succeeded + len({*before.succeeded} - tracked.keys()),
        failed=job.status.failed + len({*before.failed} - tracked.keys()),
        fails_job=next((one.fails_job for one in judged.values() if one.fails_job), ""),
    )


def _has_failed(job: Job, pod: Pod) -> bool:
    """A deleted pod has failed, also before it ends, unless a policy must see how it ends."""
    is_leaving = bool(pod.metadata.deletion_timestamp) and not job.spec.pod_failure_policy.rules
    return pod.status.phase == "Failed" or (is_leaving and pod.status.phase != "Succeeded")
