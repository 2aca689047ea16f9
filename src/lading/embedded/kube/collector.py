"""Garbage collection: dependents of owners, contents of namespaces, objects of definitions.

It runs only after a change and works in small steps. At the start it reads all objects, so a
killed server continues. The finalizers that `deleting` sets say how an owner is deleted.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import msgspec

from lading.embedded.kube import definitions, deleting
from lading.embedded.kube.deleting import Deletion
from lading.embedded.kube.resources import Registry, Resource
from lading.embedded.kube.state import State, key_of, read
from lading.embedded.kube.storage.memory import Change, Key, Record
from lading.kernel.objects import Object, OwnerReference

Document = dict[str, Any]

DELETIONS_PER_STEP_MAX = 32
"""A limit, so that emptying a large namespace does not block requests."""
_BACKGROUND = Deletion(policy="Background")
_decoder = msgspec.json.Decoder(Object)


def summary(record: Record) -> Object:
    """The uid, owners, finalizers and deletion time of a record."""
    return _decoder.decode(record.body)


class Ownership:
    """The stored objects by uid, and their owner references."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._keys: dict[str, Key] = {}
        self._owners: dict[Key, tuple[OwnerReference, ...]] = {}
        self._dependents: dict[str, set[Key]] = defaultdict(set)

    def add(self, key: Key, found: Object) -> None:
        self._drop_references(key)
        self._keys[found.metadata.uid] = key
        references = found.metadata.owner_references
        if references:
            self._owners[key] = references
        for reference in references:
            self._dependents[reference.uid].add(key)

    def forget(self, key: Key, found: Object) -> None:
        self._drop_references(key)
        self._keys.pop(found.metadata.uid, None)

    def owners(self, key: Key) -> Iterable[OwnerReference]:
        return self._owners.get(key, ())

    def dependents(self, uid: str) -> list[Key]:
        return sorted(self._dependents.get(uid, ()))

    def blocks(self, dependent: Key, uid: str) -> bool:
        """Whether the dependent blocks a foreground deletion of its owner."""
        return any(each.uid == uid and each.block_owner_deletion for each in self.owners(dependent))

    def key_of_uid(self, uid: str) -> Key | None:
        return self._keys.get(uid)

    def exists(self, dependent: Key, reference: OwnerReference) -> bool:
        """Whether the owner exists; True if its kind is not served."""
        resource = self._registry.of_kind(reference.api_version, reference.kind)
        if resource is None or (resource.namespaced and not dependent.namespace):
            return True
        namespace = dependent.namespace if resource.namespaced else ""
        return self._keys.get(reference.uid) == Key(
            resource.storage_name, namespace, reference.name
        )

    def _drop_references(self, key: Key) -> None:
        for reference in self._owners.pop(key, ()):
            self._dependents[reference.uid].discard(key)
            if not self._dependents[reference.uid]:
                del self._dependents[reference.uid]


class Collector:
    def __init__(self, state: State) -> None:
        self._state = state
        self._ownership = Ownership(state.registry)
        self._due: dict[Key, None] = {}
        """A queue of objects to check, each only once."""
        self._task: asyncio.Task[None] | None = None
        for resource in state.storage.resources():
            for record in self._records(resource):
                self._notice(record)

    def changed(self, change: Change) -> None:
        if change.deleted:
            self._forget(change.record)
        else:
            self._notice(change.record)
        self.start()

    def start(self) -> None:
        """Starts the task if the queue is not empty and no task runs."""
        if not self._due or (self._task is not None and not self._task.done()):
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # no event loop yet: the first request starts it
        self._task = loop.create_task(self._work())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _work(self) -> None:
        while self._due:
            key = next(iter(self._due))
            del self._due[key]
            self._settle(key)
            await asyncio.sleep(0)

    def _notice(self, record: Record) -> None:
        found = summary(record)
        self._ownership.add(record.key, found)
        if found.metadata.owner_references or found.metadata.deletion_timestamp:
            self._due[record.key] = None

    def _forget(self, record: Record) -> None:
        """Queues the owners and dependents of a deleted object."""
        found = summary(record)
        self._due.pop(record.key, None)
        waiting = [self._ownership.key_of_uid(each.uid) for each in found.metadata.owner_references]
        self._ownership.forget(record.key, found)
        namespace = record.key.namespace
        waiting += self._ownership.dependents(found.metadata.uid)
        waiting += [Key("namespaces", "", namespace)] if namespace else []
        waiting += [Key(definitions.STORAGE_NAME, "", record.key.resource)]
        self._due.update(dict.fromkeys(key for key in waiting if key is not None))

    def _settle(self, key: Key) -> None:
        resource = self._state.registry.of_storage(key.resource)
        record = self._state.storage.get(key)
        if resource is None or record is None:
            return
        document = read(resource, record)
        finalizers = document["metadata"].get("finalizers", ())
        if "deletionTimestamp" not in document["metadata"]:
            self._check_owners(resource, document)
        elif deleting.ORPHAN in finalizers:
            self._orphan(resource, document)
        elif deleting.FOREGROUND in finalizers:
            self._delete_dependents_first(resource, document)
        elif key.resource == definitions.STORAGE_NAME and definitions.CLEANUP in finalizers:
            if self._emptied(key, [key.name], namespace=""):
                deleting.release(self._state, resource, document, definitions.CLEANUP)
        elif key.resource == "namespaces":
            contents = [each for each in self._state.storage.resources() if each != "namespaces"]
            if self._emptied(key, contents, namespace=key.name):
                self._finish_namespace(resource, document)

    def _check_owners(self, resource: Resource, document: Document) -> None:
        """Deletes an object if none of its owners stays; else removes references to lost owners."""
        key = key_of(resource, document)
        references = tuple(self._ownership.owners(key))
        there = [each for each in references if self._ownership.exists(key, each)]
        leaving = [each for each in there if self._is_leaving(each)]
        staying = {each.uid for each in there if each not in leaving}
        if len(staying) == len(references):
            return
        if staying:
            self._keep_owners(resource, document, staying)
        elif leaving and self._ownership.dependents(document["metadata"]["uid"]):
            deleting.delete(self._state, resource, document, Deletion(policy="Foreground"))
        else:
            deleting.delete(self._state, resource, document, _BACKGROUND)

    def _is_leaving(self, reference: OwnerReference) -> bool:
        """Whether the owner is in a foreground deletion."""
        key = self._ownership.key_of_uid(reference.uid)
        record = self._state.storage.get(key) if key else None
        if record is None:
            return False
        metadata = summary(record).metadata
        return bool(metadata.deletion_timestamp) and deleting.FOREGROUND in metadata.finalizers

    def _keep_owners(self, resource: Resource, document: Document, uids: set[str]) -> None:
        metadata = dict(document["metadata"])
        kept = [each for each in metadata.get("ownerReferences", ()) if each["uid"] in uids]
        metadata["ownerReferences"] = kept
        if not kept:
            del metadata["ownerReferences"]
        self._state.put(resource, {**document, "metadata": metadata})

    def _orphan(self, resource: Resource, document: Document) -> None:
        uid = document["metadata"]["uid"]
        for key in self._ownership.dependents(uid):
            dependent_resource = self._state.registry.of_storage(key.resource)
            record = self._state.storage.get(key)
            if dependent_resource is not None and record is not None:
                others = {each.uid for each in self._ownership.owners(key)} - {uid}
                dependent = read(dependent_resource, record)
                self._keep_owners(dependent_resource, dependent, others)
        deleting.release(self._state, resource, document, deleting.ORPHAN)

    def _delete_dependents_first(self, resource: Resource, document: Document) -> None:
        uid = document["metadata"]["uid"]
        dependents = self._ownership.dependents(uid)
        if any(self._ownership.blocks(each, uid) for each in dependents):
            self._due.update(
                dict.fromkeys(each for each in dependents if not self._is_marked(each))
            )
        else:
            deleting.release(self._state, resource, document, deleting.FOREGROUND)

    def _is_marked(self, key: Key) -> bool:
        record = self._state.storage.get(key)
        return record is None or bool(summary(record).metadata.deletion_timestamp)

    def _emptied(self, key: Key, storage_names: Iterable[str], *, namespace: str) -> bool:
        """Deletes some of the remaining objects; True if there are none."""
        left = 0
        budget = DELETIONS_PER_STEP_MAX
        for name in storage_names:
            resource = self._state.registry.of_storage(name)
            if resource is None or (namespace and not resource.namespaced):
                continue
            for record in self._records(name, namespace):
                left += 1
                if budget and not summary(record).metadata.deletion_timestamp:
                    budget -= 1
                    deleting.delete(self._state, resource, read(resource, record), _BACKGROUND)
        if budget < DELETIONS_PER_STEP_MAX:
            self._due[key] = None
        return left == 0

    def _finish_namespace(self, resource: Resource, document: Document) -> None:
        spec = {**document.get("spec", {}), "finalizers": []}
        emptied = {**document, "spec": spec}
        if deleting.is_finished(emptied):
            deleting.finish(self._state, resource, emptied)
        elif emptied != document:
            self._state.put(resource, emptied)

    def _records(self, storage_name: str, namespace: str = "") -> Iterable[Record]:
        return self._state.storage.list(
            storage_name, namespace=namespace, at=self._state.storage.revision, after=None
        )
