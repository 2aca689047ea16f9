"""Removes what must not outlive something else: dependents, contents of a namespace, objects of
a definition.

It wakes only when a change asks for it, works in small steps, and begins with what is stored, so
a server that was killed continues where it was. How an owner is deleted is read from the
finalizers that `deleting` has set.
"""

import asyncio
from collections.abc import Iterable
from typing import Any

from lading.kernel.objects import OwnerReference
from lading.servers.kube import definitions, deleting, ownership
from lading.servers.kube.deleting import Deletion
from lading.servers.kube.ownership import Ownership
from lading.servers.kube.resources import Resource
from lading.servers.kube.state import State, key_of, read
from lading.servers.kube.storage.types import Change, Key, Record

Document = dict[str, Any]

DELETIONS_PER_STEP_MAX = 32
"""So that emptying a large namespace does not keep requests waiting."""
_BACKGROUND = Deletion(policy="Background")


class Collector:
    def __init__(self, state: State) -> None:
        self._state = state
        self._ownership = Ownership(state.registry)
        self._due: dict[Key, None] = {}
        """What to look at, in the order it was noticed; each only once."""
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
        """Begins to work if there is something to do and no task does it yet."""
        if not self._due or (self._task is not None and not self._task.done()):
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # opened outside of a loop: the first request starts it
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
        found = ownership.summary(record)
        self._ownership.add(record.key, found)
        if found.metadata.owner_references or found.metadata.deletion_timestamp:
            self._due[record.key] = None

    def _forget(self, record: Record) -> None:
        """Objects that waited for this one to go, or depend on it, are looked at again."""
        found = ownership.summary(record)
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
        """Deletes an object without owners that stay; forgets those that do not, otherwise."""
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
        """Whether the owner waits, in a foreground deletion, for its dependents to go."""
        key = self._ownership.key_of_uid(reference.uid)
        record = self._state.storage.get(key) if key else None
        if record is None:
            return False
        metadata = ownership.summary(record).metadata
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
        return record is None or bool(ownership.summary(record).metadata.deletion_timestamp)

    def _emptied(self, key: Key, storage_names: Iterable[str], *, namespace: str) -> bool:
        """Deletes some of what is left; says whether nothing is."""
        left = 0
        budget = DELETIONS_PER_STEP_MAX
        for name in storage_names:
            resource = self._state.registry.of_storage(name)
            if resource is None or (namespace and not resource.namespaced):
                continue
            for record in self._records(name, namespace):
                left += 1
                if budget and not ownership.summary(record).metadata.deletion_timestamp:
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
