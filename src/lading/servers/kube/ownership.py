"""Owner references: an index of the stored objects by uid and of their owner references."""

from collections import defaultdict
from collections.abc import Iterable

import msgspec

from lading.kernel.objects import Object, OwnerReference
from lading.servers.kube.resources import Registry
from lading.servers.kube.storage.types import Key, Record

_decoder = msgspec.json.Decoder(Object)


def summary(record: Record) -> Object:
    """What the record says about itself: uid, owners, finalizers, deletion."""
    return _decoder.decode(record.body)


class Ownership:
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
        """Whether the dependent holds its owner back in a foreground deletion."""
        return any(each.uid == uid and each.block_owner_deletion for each in self.owners(dependent))

    def key_of_uid(self, uid: str) -> Key | None:
        return self._keys.get(uid)

    def exists(self, dependent: Key, reference: OwnerReference) -> bool:
        """Whether the owner is there; one that cannot be looked up is taken to be."""
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
