"""What the server needs of a store: versions of objects by key, and the log of their changes.

A body is JSON bytes without a resourceVersion: the revision of the change is the version. The
store knows nothing of Kubernetes; the callers decide what may be written.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import msgspec


class Key(NamedTuple):
    """A resource such as `daemonsets.apps`, a namespace ("" when cluster-scoped), a name."""

    resource: str
    namespace: str
    name: str


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One version of one object."""

    key: Key
    revision: int
    body: bytes


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the log; a deletion carries the last state of the object."""

    record: Record
    previous: Record | None
    deleted: bool

    @property
    def revision(self) -> int:
        return self.record.revision


class Compacted(Exception):
    """The revision is older than what the log still holds."""

    def __init__(self, *, revision: int, oldest: int) -> None:
        self.revision = revision
        self.oldest = oldest
        super().__init__(f"revision {revision} was compacted; the oldest kept is {oldest}")


class NotStored(Exception):
    """A change could not be written, for instance to a full disk; nothing has changed."""


class Storage(Protocol):
    @property
    def revision(self) -> int:
        """The revision of the latest change."""

    @property
    def compacted(self) -> int:
        """What was before this revision cannot be asked for any more."""

    def get(self, key: Key) -> Record | None: ...

    def list(
        self, resource: str, *, namespace: str, at: int, after: tuple[str, str] | None
    ) -> Sequence[Record]:
        """The objects as they were at that revision, by (namespace, name), from `after` on."""

    def resources(self) -> Sequence[str]:
        """The resources that hold at least one object."""

    def put(self, key: Key, body: bytes) -> Record: ...

    def delete(self, key: Key, body: bytes) -> Record:
        """Records the deletion; the body is the last state, as watchers are to see it."""

    def changes(self, resource: str, *, after: int) -> Sequence[Change]:
        """Raises Compacted only if a change of that resource is missing from the answer."""

    def subscribe(self, listener: Callable[[Change], None]) -> None:
        """The listener is called after each change is safe, in order."""

    def compact(self, revision: int) -> None: ...

    def close(self) -> None: ...
