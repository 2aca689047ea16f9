"""Why a container is not ready, from the messages of the kubelet and the runtime. Pure.

Any other reason is no fault: the container is being created, or the pull continues.
"""

import re
from collections.abc import Sequence

from lading.api.core import ContainerStatus, Pod
from lading.api.longhorn import FAILURE_CHARACTERS_MAX
from lading.kernel import texts
from lading.prepull import holder
from lading.prepull.types import Fault, ImageReason

MESSAGE_BYTES_MAX = 300
NAMES_BYTES_MAX = 200
BACK_OFF = "ImagePullBackOff"
_PULL_REASONS = {"ErrImagePull", BACK_OFF, "RegistryUnavailable", "ErrImageNeverPull"}
_START_REASONS = {
    "CreateContainerError",
    "CreateContainerConfigError",
    "RunContainerError",
    "CrashLoopBackOff",
    "StartError",
    "Error",
    "OOMKilled",
    "ContainerCannotRun",
}
_CODE = r"(?<![\d:.])"
"""Before a status code. A port is not a status code."""
_WORDS: tuple[tuple[ImageReason, re.Pattern[str]], ...] = (
    (ImageReason.NO_SPACE, re.compile("no space left|disk quota exceeded")),
    (
        ImageReason.NO_MATCHING_PLATFORM,
        re.compile("no match for platform|no matching manifest|no image found in image index"),
    ),
    (
        ImageReason.UNAUTHORIZED,
        re.compile(
            rf"unauthorized|forbidden|denied|authorization failed|no basic auth|{_CODE}40[13]\b"
        ),
    ),
    (ImageReason.NOT_FOUND, re.compile(rf"not found|manifest unknown|name unknown|{_CODE}404\b")),
)
"""In this order: a registry also answers `not found` for an image that is not public."""
_HINTS = {
    ImageReason.UNAUTHORIZED: (
        " Check the Secret of --prepull-pull-secret in the controller's namespace."
    ),
}


def of_pull(message: str) -> ImageReason:
    """If it is no fault of the image or the node, the registry is unavailable."""
    lower = message.lower()
    return next(
        (why for why, words in _WORDS if words.search(lower)),
        ImageReason.REGISTRY_UNAVAILABLE,
    )


def of_container(status: ContainerStatus) -> Fault | None:
    detail = status.state.waiting or status.state.terminated
    if status.ready or detail is None:
        return None
    if detail.reason in _PULL_REASONS:
        why = of_pull(detail.message)
        return Fault(why=why, message=_bounded(detail.message) + _HINTS.get(why, ""))
    if detail.reason == "InvalidImageName":
        return Fault(why=ImageReason.INVALID_IMAGE, message=_bounded(detail.message))
    if detail.reason in _START_REASONS:
        message = f"{detail.reason}: {detail.message}".removesuffix(": ")
        return Fault(why=ImageReason.CANNOT_START, message=_bounded(message))
    return None


def with_missing_secrets(fault: Fault, names: Sequence[str]) -> Fault:
    """Adds the Secrets that the kubelet did not find, if the registry refused the pull."""
    if fault.why is not ImageReason.UNAUTHORIZED or not names:
        return fault
    listed = texts.bounded_text(", ".join(names), bytes_max=NAMES_BYTES_MAX)
    step = (
        f" The kubelet did not find the Secret {listed} of --prepull-pull-secret in the "
        "controller's namespace. Create it, or correct the option."
    )
    cause = fault.message.removesuffix(_HINTS[ImageReason.UNAUTHORIZED])
    room_bytes = FAILURE_CHARACTERS_MAX - len(step)
    message = texts.bounded_text(cause, bytes_max=room_bytes) + step
    return Fault(why=fault.why, message=message, since=fault.since)


def with_own_image(fault: Fault, pod: Pod, container: str) -> Fault:
    """Says so if the fault is one of Lading's own image."""
    own = next((one.image for one in pod.spec.containers if one.name == container), "")
    url = holder.held(pod).get(container, own)
    if own == url or own not in fault.message or url in fault.message:
        return fault
    message = _bounded(f"Lading's own image {own}: {fault.message}")
    return Fault(why=fault.why, message=message, since=fault.since)


def names_no_cause(status: ContainerStatus) -> bool:
    """Older kubelets name the cause only between two back-offs."""
    waiting = status.state.waiting
    return waiting is not None and waiting.reason == BACK_OFF and ": " not in waiting.message


def of_pod(pod: Pod) -> Fault | None:
    """A fault of all containers of the pod."""
    if pod.status.phase == "Failed":
        why = (
            ImageReason.UNSCHEDULABLE
            if pod.status.reason.startswith("OutOf")
            else ImageReason.CANNOT_START
        )
        message = f"{pod.status.reason}: {pod.status.message}"
        return Fault(why=why, message=_bounded(message))
    for condition in pod.status.conditions:
        if condition.type == "PodScheduled" and condition.reason == "Unschedulable":
            return Fault(why=ImageReason.UNSCHEDULABLE, message=_bounded(condition.message))
    for status in pod.status.init_container_statuses:
        found = of_container(status) if status.name == holder.INIT_CONTAINER else None
        if found is not None and not _is_done(status):
            message = _bounded(f"init container {status.name}: {found.message}")
            return Fault(why=found.why, message=message)
    return None


def _is_done(status: ContainerStatus) -> bool:
    terminated = status.state.terminated
    return terminated is not None and terminated.reason == "Completed"


def _bounded(message: str) -> str:
    return texts.bounded_text(message, bytes_max=MESSAGE_BYTES_MAX)
