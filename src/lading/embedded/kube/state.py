"""Decodes and encodes objects between the storage and the verbs.

The caller may change a document that it reads here. `resourceVersion` is not stored: it is the
revision of the record.
"""

from collections.abc import Callable, Container, Iterator
from datetime import UTC
from typing import Any

import msgspec

from lading.embedded.kube import events
from lading.embedded.kube.resources import Registry, Resource
from lading.embedded.kube.schema import structural
from lading.embedded.kube.storage.memory import Key, MemoryStorage, Record
from lading.ports.clock import Clock

Document = dict[str, Any]


class State(msgspec.Struct, frozen=True, kw_only=True):
    storage: MemoryStorage
    registry: Registry
    clock: Clock
    uid_source: Callable[[], str]
    kubelets: Container[str] = ()
    """The nodes with a kubelet, which stops deleted pods."""

    def now(self) -> str:
        return self.clock.now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def find(self, resource: Resource, namespace: str, name: str) -> Document | None:
        record = self.storage.get(Key(resource.storage_name, namespace, name))
        return None if record is None else read(resource, record)

    def every(self, resource: Resource, namespace: str = "") -> Iterator[Document]:
        records = self.storage.list(
            resource.storage_name, namespace=namespace, at=self.storage.revision, after=None
        )
        return (read(resource, record) for record in records)

    def put(self, resource: Resource, document: Document) -> Document:
        """Stores the document and gives it its new resourceVersion."""
        record = self.storage.put(key_of(resource, document), encode(_stored(resource, document)))
        return stamped(document, record.revision)

    def remove(self, resource: Resource, document: Document) -> Document:
        record = self.storage.delete(
            key_of(resource, document), encode(_stored(resource, document))
        )
        return stamped(document, record.revision)


def key_of(resource: Resource, document: Document) -> Key:
    metadata = document["metadata"]
    return Key(resource.storage_name, metadata.get("namespace", ""), metadata["name"])


def read(resource: Resource, record: Record) -> Document:
    """Decodes a record in the version of the resource."""
    document: Document = msgspec.json.decode(record.body)
    if resource.group == events.GROUP:
        document = events.from_core(document)
    outdated = resource.custom and (
        record.revision < resource.since_revision or document["apiVersion"] != resource.api_version
    )
    if outdated:
        document["apiVersion"] = resource.api_version
        pruned, _ = structural.prune(resource.schema, document)
        document = structural.default(resource.schema, pruned)
    return stamped(document, record.revision)


def _stored(resource: Resource, document: Document) -> Document:
    return events.to_core(document) if resource.group == events.GROUP else document


def stamped(document: Document, revision: int) -> Document:
    document["metadata"]["resourceVersion"] = str(revision)
    return document


def encode(document: Document) -> bytes:
    metadata = {key: value for key, value in document["metadata"].items() if key != _VERSION}
    return msgspec.json.encode({**document, "metadata": metadata})


_VERSION = "resourceVersion"
