"""metadata.managedFields: which manager owns which paths, read, changed and written back.

A manager is identified by name, operation, subresource and, for updates, the API version.
"""

from typing import Any, NamedTuple

import msgspec

from lading.embedded.kube.applying import paths
from lading.embedded.kube.applying.paths import Paths
from lading.embedded.kube.schema.nodes import Document
from lading.kernel.values import replace

APPLY = "Apply"
UPDATE = "Update"
UPDATERS_MAX = 10  # more are folded into one entry, as the API server does
_ANCIENT = "ancient-changes"


class Manager(NamedTuple):
    """The identity of a manager; it has one entry in managedFields."""

    operation: str
    name: str
    api_version: str
    """Empty for appliers: a new API version does not make a new manager."""
    subresource: str

    def __str__(self) -> str:
        text = f'"{self.name}"'
        if self.subresource:
            text += f' with subresource "{self.subresource}"'
        return f"{text} using {self.api_version}" if self.operation == UPDATE else text


class Owned(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a manager, with the time and API version of its last write."""

    fields: Paths
    api_version: str
    time: str = ""

    def without(self, gone: frozenset[paths.Path] | set[paths.Path]) -> "Owned":
        return replace(self, fields=self.fields - gone)


Owners = dict[Manager, Owned]


def manager(*, name: str, operation: str, api_version: str, subresource: str) -> Manager:
    version = "" if operation == APPLY else api_version
    return Manager(operation, name or "unknown", version, subresource)


def read(document: Document) -> Owners:
    """The owners of a document; entries that cannot be read are dropped."""
    owners: Owners = {}
    entries = _entries(document)
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict) or entry.get("operation") not in (APPLY, UPDATE):
            continue
        who = manager(
            name=str(entry.get("manager", "")),
            operation=entry["operation"],
            api_version=str(entry.get("apiVersion", "")),
            subresource=str(entry.get("subresource", "")),
        )
        owners[who] = Owned(
            fields=frozenset(paths.from_fields(entry.get("fieldsV1"))),
            api_version=str(entry.get("apiVersion", "")),
            time=str(entry.get("time", "")),
        )
    return owners


def asks_for_reset(document: Document) -> bool:
    """Whether the writer sent `managedFields: []` or `[{}]`, which removes all owners."""
    entries = _entries(document)
    return isinstance(entries, list) and entries in ([], [{}])


def has_entries(document: Document) -> bool:
    return _entries(document) is not None


def _entries(document: Document) -> Any:
    metadata = document.get("metadata")
    return metadata.get("managedFields") if isinstance(metadata, dict) else None


def write(document: Document, owners: Owners) -> Document:
    """The document with these owners in its metadata, ordered as the API server orders them."""
    metadata = {k: v for k, v in document.get("metadata", {}).items() if k != "managedFields"}
    ordered = sorted(
        (pair for pair in owners.items() if pair[1].fields),
        key=lambda pair: (pair[0].operation, pair[1].time, pair[0].name, pair[0]),
    )
    if ordered:
        metadata["managedFields"] = [_entry(who, owned) for who, owned in ordered]
    return {**document, "metadata": metadata}


def _entry(who: Manager, owned: Owned) -> Document:
    entry = {
        "manager": who.name,
        "operation": who.operation,
        "apiVersion": owned.api_version,
        "time": owned.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": paths.to_fields(owned.fields),
        "subresource": who.subresource,
    }
    return {key: value for key, value in entry.items() if value != ""}


def folded(owners: Owners) -> Owners:
    """At most UPDATERS_MAX updaters: the oldest of each version become one entry."""
    updaters = sorted(
        (who for who in owners if who.operation == UPDATE),
        key=lambda who: (owners[who].time, who),
    )
    surplus = len(updaters) - UPDATERS_MAX
    if surplus <= 0:
        return owners
    kept = dict(owners)
    for old in updaters[: surplus + 1]:
        owned = kept.pop(old)
        bucket = Manager(UPDATE, _ANCIENT, old.api_version, "")
        before = kept[bucket].fields if bucket in kept else paths.EMPTY
        kept[bucket] = replace(owned, fields=owned.fields | before)
    return kept
