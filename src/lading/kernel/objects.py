"""The parts of every Kubernetes object: metadata, a key, a kind, and its place in the API.

Objects are decoded into structs that have only the fields we use; other fields are dropped. So
a struct is never sent back whole: writes are patches.
"""

from collections.abc import Callable, Iterable
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec


class Model(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False
):
    """The base of everything that is decoded from the API: immutable, camelCase on the wire.

    Decoded objects have no cycles, so the garbage collector skips them: a full collection over
    the caches of a large fleet would block the event loop for a long time.
    """


class OwnerReference(Model, frozen=True, kw_only=True):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(Model, frozen=True, kw_only=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    creation_timestamp: str = ""
    deletion_timestamp: str = ""


class ManagedFields(Model, frozen=True, kw_only=True):
    """Which fields a manager owns, in the form that server-side apply keeps them."""

    manager: str = ""
    operation: str = ""
    subresource: str = ""
    fields_v1: dict[str, Any] = msgspec.field(name="fieldsV1", default_factory=dict)

    def is_applied_by(self, manager: str, *, subresource: str = "") -> bool:
        return (self.manager, self.operation, self.subresource) == (manager, "Apply", subresource)

    def names(self, path: Iterable[str], *, key: str = "name") -> Iterable[str]:
        """The keys of the owned entries of the list at `path`."""
        fields: Any = self.fields_v1
        for step in path:
            fields = fields.get(f"f:{step}", {})
        keys = (field.removeprefix("k:") for field in fields if field.startswith("k:"))
        return (msgspec.json.decode(one)[key] for one in keys)


class OwnedMeta(ObjectMeta, frozen=True, kw_only=True):
    """Metadata with the owner of each field, for the few kinds where we need it."""

    managed_fields: tuple[ManagedFields, ...] = ()

    def applied_names(self, manager: str, *path: str) -> frozenset[str]:
        """The `name` keys of the list entries at `path` that the manager applied."""
        return self._names(path, lambda entry: entry.is_applied_by(manager))

    def names_of_others(self, manager: str, *path: str) -> frozenset[str]:
        """The `name` keys that other managers own, which stay in the list."""
        return self._names(path, lambda entry: not entry.is_applied_by(manager))

    def applied_condition_types(self, manager: str) -> frozenset[str]:
        """The types of the conditions that the manager applied to the status."""
        return frozenset(
            type_
            for entry in self.managed_fields
            if entry.is_applied_by(manager, subresource="status")
            for type_ in entry.names(("status", "conditions"), key="type")
        )

    def _names(
        self, path: tuple[str, ...], is_meant: Callable[[ManagedFields], bool]
    ) -> frozenset[str]:
        return frozenset(
            name for entry in self.managed_fields if is_meant(entry) for name in entry.names(path)
        )


class Object(Model, frozen=True, kw_only=True):
    """The base of every kind; `apiVersion` and `kind` are absent inside lists."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()

    @property
    def key(self) -> "Key":
        return Key(self.metadata.namespace, self.metadata.name)


class PartialObjectMetadata(Object, frozen=True, kw_only=True):
    """The metadata of an object of any kind, without the rest of the object."""


class Key(NamedTuple):
    """The namespace ("" if cluster-scoped) and the name of an object."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


T = TypeVar("T", covariant=True)


class Resource(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """One served kind: its names, its scope, and the type that its objects are decoded into."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    type: type[T]

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def metadata_only(self) -> "Resource[PartialObjectMetadata]":
        """The same objects, with only their metadata."""
        return Resource(
            group=self.group,
            version=self.version,
            kind=self.kind,
            plural=self.plural,
            namespaced=self.namespaced,
            type=PartialObjectMetadata,
        )

    def path(self, *, namespace: str = "", name: str = "", subresource: str = "") -> str:
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        scope = f"/namespaces/{namespace}" if namespace and self.namespaced else ""
        tail = "".join(f"/{part}" for part in (name, subresource) if part)
        return f"{root}{scope}/{self.plural}{tail}"
