"""What is served: one `Resource` for each kind and version, built in or declared by a CRD.

The registry finds them by path, by kind and by storage name. Only a change of a
CustomResourceDefinition changes it.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

import msgspec

from lading.embedded.kube import events

Document = dict[str, Any]
Cell = Callable[[Document, datetime], Any]
"""Makes the cell of a table from an object and the current time."""

STANDARD_VERBS = (
    "delete", "deletecollection", "get", "list", "patch", "create", "update", "watch",
)  # fmt: skip


class Column(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    type: str = "string"
    format: str = ""
    priority: int = 0
    """1 is shown only by `-o wide`."""
    description: str = ""
    cell: Cell


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    group: str
    version: str
    kind: str
    plural: str
    singular: str
    list_kind: str
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    namespaced: bool
    subresources: tuple[str, ...] = ()
    """Only `status` is served."""
    verbs: tuple[str, ...] = STANDARD_VERBS
    schema: Document
    columns: tuple[Column, ...]
    definition: str
    """The name of the schema in OpenAPI documents."""
    custom: bool = False
    has_generation: bool = False
    selectable_fields: tuple[str, ...] = ()
    """In addition to metadata.name and metadata.namespace."""
    since_revision: int = 0
    """The revision of the CRD; older objects are pruned and defaulted again when read."""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def storage_name(self) -> str:
        """The storage key that all versions share: `daemonsets.apps`."""
        if self.group == events.GROUP:
            return events.STORAGE_NAME
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def is_review(self) -> bool:
        """Whether objects are answered and never stored, such as SelfSubjectReview."""
        return self.verbs == ("create",)

    @property
    def has_status(self) -> bool:
        return "status" in self.subresources


class Registry:
    """The resources by the names that requests use."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        self._by_path: dict[tuple[str, str, str], Resource] = {}
        self._custom: dict[str, tuple[Resource, ...]] = {}
        self.epoch = 0
        """Grows with every change; documents made from the registry are cached until then."""
        for resource in resources:
            self._add(resource)

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._by_path.values())

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        return self._by_path.get((group, version, plural))

    def group_exists(self, group: str, version: str = "") -> bool:
        return any(each.group == group and version in ("", each.version) for each in self)

    def of_kind(self, api_version: str, kind: str) -> Resource | None:
        """The resource of an owner reference, in that version or any other of the group."""
        group = api_version.rpartition("/")[0]
        found = [each for each in self if each.group == group and each.kind == kind]
        exact = [each for each in found if each.api_version == api_version]
        return next(iter(exact or found), None)

    def of_storage(self, storage_name: str) -> Resource | None:
        return next((each for each in self if each.storage_name == storage_name), None)

    def replace_custom(self, storage_name: str, resources: tuple[Resource, ...]) -> None:
        """Replaces all versions of one custom resource; an empty tuple removes it."""
        for old in self._custom.pop(storage_name, ()):
            del self._by_path[old.group, old.version, old.plural]
        for resource in resources:
            self._add(resource)
        if resources:
            self._custom[storage_name] = resources
        self.epoch += 1

    def _add(self, resource: Resource) -> None:
        self._by_path[resource.group, resource.version, resource.plural] = resource
