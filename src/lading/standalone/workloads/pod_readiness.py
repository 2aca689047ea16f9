"""What the status of a pod says about readiness. Pure."""

from datetime import datetime, timedelta

from lading.kernel.conditions import Truth
from lading.standalone.workloads.kinds import Condition, Pod


def ready_condition(pod: Pod) -> Condition | None:
    return next((one for one in pod.status.conditions if one.type == "Ready"), None)


def is_ready(pod: Pod) -> bool:
    condition = ready_condition(pod)
    return condition is not None and condition.status is Truth.TRUE


def available_at(pod: Pod, min_ready_seconds: int) -> datetime | None:
    """When the pod is, or will be, available if it stays ready; None while it is not ready."""
    condition = ready_condition(pod)
    if (
        condition is None
        or condition.status is not Truth.TRUE
        or not condition.last_transition_time
    ):
        return None
    since = datetime.fromisoformat(condition.last_transition_time)
    return since + timedelta(seconds=min_ready_seconds)


def is_available(pod: Pod, min_ready_seconds: int, now: datetime) -> bool:
    if min_ready_seconds == 0:
        return is_ready(pod)
    at = available_at(pod, min_ready_seconds)
    return at is not None and at <= now
