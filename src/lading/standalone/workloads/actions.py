"""What the workload controllers do to objects, as values. Pure."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from lading.kernel.objects import Key, Object, Resource
from lading.standalone.workloads.event_reasons import KubernetesEvent
from lading.standalone.workloads.kinds import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    resource: Resource[Any]
    key: Key
    uid: str
    because: str
    propagation: str = "Background"

    @property
    def lane(self) -> Hashable:
        return self.resource.kind, self.key


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveFinalizer:
    resource: Resource[Any]
    key: Key
    resource_version: str
    finalizers: tuple[str, ...]
    """Those that stay."""
    because: str

    @property
    def lane(self) -> Hashable:
        return self.resource.kind, self.key


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteWorkloadStatus:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordWorkloadEvent:
    """An event about an object."""

    resource: Resource[Any]
    about: Object = field(repr=False)
    reason: KubernetesEvent
    because: str
    """The note of the event."""
    warning: bool = False

    @property
    def lane(self) -> Hashable:
        return "events"
