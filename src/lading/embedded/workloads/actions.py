"""The writes of the workload controllers, as values. Pure."""

from collections.abc import Hashable
from enum import StrEnum
from typing import Any

import msgspec

from lading.embedded.workloads.kinds import Document
from lading.kernel.objects import Key, Object, Resource


class KubernetesEvent(StrEnum):
    """The reasons of events about pods, as Kubernetes writes them."""

    BACK_OFF = "BackOff"
    FAILED = "Failed"
    FAILED_SCHEDULING = "FailedScheduling"
    PULLED = "Pulled"
    PULLING = "Pulling"
    SCHEDULED = "Scheduled"
    UNPARSEABLE_SCHEDULE = "UnparseableSchedule"


class Create(msgspec.Struct, frozen=True, kw_only=True):
    """Create an object. Its name is deterministic, so a repeated Create changes nothing."""

    resource: Resource[Any]
    body: Document
    because: str

    @property
    def key(self) -> Key:
        return Key(self.body["metadata"]["namespace"], self.body["metadata"]["name"])

    @property
    def lane(self) -> Hashable:
        return self.resource.kind, self.key


class Delete(msgspec.Struct, frozen=True, kw_only=True):
    resource: Resource[Any]
    key: Key
    uid: str
    because: str
    grace_seconds: int | None = None

    @property
    def lane(self) -> Hashable:
        return self.resource.kind, self.key


class Patch(msgspec.Struct, frozen=True, kw_only=True):
    """Merge a document into an object. A field that is None is removed.

    The metadata in the body is the precondition: a resourceVersion or a UID.
    """

    resource: Resource[Any]
    key: Key
    body: Document
    because: str
    subresource: str = "status"
    is_strategic: bool = False
    """Merge conditions by their type, so that the conditions of others stay."""
    lane: Hashable = "status"


def write_status(
    resource: Resource[Any],
    one: Object,
    status: Document,
    *,
    because: str,
    lane: Hashable = "status",
) -> Patch:
    """Write the status, unless the object has changed since it was observed."""
    body = {"metadata": {"resourceVersion": one.metadata.resource_version}, "status": status}
    return Patch(resource=resource, key=one.key, body=body, because=because, lane=lane)
