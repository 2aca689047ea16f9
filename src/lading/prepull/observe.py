"""Reads what no cache has: Lading's own image, the key, and events about pods and secrets."""

import re
from collections.abc import Sequence

from lading.api.core import PODS, SECRETS
from lading.api.events import EVENTS
from lading.kernel import texts
from lading.ports import kube
from lading.ports.kube import Kube, Selection
from lading.prepull import faults, hold_key, holder
from lading.prepull.hold_key import HoldKey
from lading.prepull.types import HOLD_KEY_NAME, Fault, ImageReason, PrePullSettings

OWN_CONTAINER = "controller"
_FAILED_CREATE = f"regarding.kind=DaemonSet,regarding.name={holder.NAME},reason=FailedCreate"
_MISSING_SECRET = "regarding.kind=Pod,reason=FailedToRetrieveImagePullSecret"
_SECRET_NAMES = re.compile(r"\((?P<names>[^)]*)\)")
_EVENTS_MAX = 20


async def hold_image(api: Kube, settings: PrePullSettings, namespace: str) -> str:
    """The option, or the image of the controller's own pod; empty when neither is known."""
    if settings.hold_image or not settings.pod_name:
        return settings.hold_image
    try:
        pod = await api.get(PODS, settings.pod_name, namespace=namespace)
    except (kube.NotFound, kube.Forbidden):
        return ""
    images = {one.name: one.image for one in pod.spec.containers}
    return images.get(OWN_CONTAINER) or next(iter(images.values()), "")


async def key_of_installation(api: Kube, namespace: str) -> HoldKey | None:
    """None where there is no such Secret. Raises BadHoldKey."""
    try:
        secret = await api.get(SECRETS, HOLD_KEY_NAME, namespace=namespace)
    except kube.NotFound:
        return None
    return hold_key.of_secret(secret)


async def creation_failure(api: Kube, namespace: str) -> Fault | None:
    """What the DaemonSet controller reports about pods that it could not create."""
    selection = Selection(namespace=namespace, field_selector=_FAILED_CREATE)
    try:
        page = await api.page(EVENTS, selection, limit=_EVENTS_MAX)
    except (kube.Forbidden, kube.Invalid):
        return None
    if not page.items:
        return None
    note = max(page.items, key=lambda one: int(one.metadata.resource_version or 0)).note
    why = ImageReason.QUOTA if "exceeded quota" in note else ImageReason.CANNOT_START
    return Fault(why=why, message=texts.bounded_text(note, bytes_max=faults.MESSAGE_BYTES_MAX))


async def missing_pull_secrets(
    api: Kube, secrets: Sequence[str], namespace: str
) -> tuple[str, ...]:
    """Those of the secrets that a kubelet did not find for a holder pod, by its events.

    The controller may not read these Secrets, and need not.
    """
    selection = Selection(namespace=namespace, field_selector=_MISSING_SECRET)
    try:
        page = await api.page(EVENTS, selection, limit=_EVENTS_MAX)
    except (kube.Forbidden, kube.Invalid):
        return ()
    missing: set[str] = set()
    for one in page.items:
        found = _SECRET_NAMES.search(one.note)
        if found is not None and one.regarding.name.startswith(f"{holder.NAME}-"):
            missing.update(found["names"].split(", "))
    return tuple(name for name in secrets if name in missing)
