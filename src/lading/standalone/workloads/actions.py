"""What the workload controllers do to objects, as values. Pure."""

from collections.abc import Hashable
from typing import Any

import msgspec

from lading.kernel.objects import Key, Object, Resource
from lading.kernel.values import Redacted
from lading.standalone.workloads.event_reasons import KubernetesEvent
from lading.standalone.workloads.kinds import Document


class Create(msgspec.Struct, frozen=True, kw_only=True):
    """Makes an object with a name that is always the same, so that making it twice is harmless."""

    resource: Resource[Any]
    body: Document
    because: str
    order: str = ""
    """A lane that it shares, for what must not be written unless the object is there."""

    @property
    def key(self) -> Key:
        return Key(self.body["metadata"]["namespace"], self.body["metadata"]["name"])

    @property
    def lane(self) -> Hashable:
        return self.order or (self.resource.kind, self.key)


class Delete(msgspec.Struct, frozen=True, kw_only=True):
    resource: Resource[Any]
    key: Key
    uid: str
    because: str
    propagation: str = "Background"

    @property
    def lane(self) -> Hashable:
        return self.resource.kind, self.key


class RemoveFinalizer(msgspec.Struct, frozen=True, kw_only=True):
    resource: Resource[Any]
    key: Key
    resource_version: str
    finalizers: tuple[str, ...]
    """Those that stay."""
    because: str

    @property
    def lane(self) -> Hashable:
        return self.resource.kind, self.key


class WriteWorkloadStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Replaces fields of the status; a field that is None is removed."""

    resource: Resource[Any]
    key: Key
    resource_version: str
    status: Document
    because: str
    order: str = ""
    """A lane that it shares, for a status that is only true once something else is done."""

    @property
    def lane(self) -> Hashable:
        return self.order or ("status", self.resource.kind, self.key)


class RecordWorkloadEvent(Redacted, frozen=True, kw_only=True):
    """An event about an object."""

    shown = ("resource", "reason", "because")

    resource: Resource[Any]
    about: Object
    reason: KubernetesEvent
    because: str
    """The note of the event."""
    warning: bool = False

    @property
    def lane(self) -> Hashable:
        return "events"
