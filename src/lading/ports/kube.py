"""The Kubernetes API as the features see it.

KubeError                 the API server refused, or could not be reached
├── Transient             worth trying again as it is
│   ├── Unavailable       5xx, connection refused, time-out
│   └── TooManyRequests   429
├── NotFound              404
├── AlreadyExists         409 AlreadyExists (a create)
├── Conflict              409 Conflict (a stale resourceVersion, or another field manager)
├── Gone                  410 (a revision that was compacted away)
├── Invalid               400, 413 or 422, with causes that name the fields
├── Unauthorized          401
├── Forbidden             403
└── TooLarge              an answer that exceeds its limit
"""

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from lading.kernel.objects import Model, Resource

T = TypeVar("T")
PAGE_OBJECTS_MAX = 500  # what client-go and kubectl ask for


class Cause(Model, frozen=True, kw_only=True):
    """One thing that was wrong with a request, and the field it was found in."""

    reason: str = ""
    message: str = ""
    field: str = ""


class KubeError(Exception):
    """Carries the HTTP code, the reason, the message and the causes of the `Status` returned."""

    def __init__(
        self,
        message: str,
        *,
        code: int = 0,
        reason: str = "",
        causes: tuple[Cause, ...] = (),
        details: Any = None,
        continue_token: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.causes = causes
        self.details = details
        self.continue_token = continue_token
        """After a list expired: the token to list the rest in its present state."""


class Transient(KubeError):
    pass


class Unavailable(Transient):
    pass


class TooManyRequests(Transient):
    pass


class NotFound(KubeError):
    pass


class AlreadyExists(KubeError):
    pass


class Conflict(KubeError):
    pass


class Gone(KubeError):
    pass


class Invalid(KubeError):
    pass


class Unauthorized(KubeError):
    pass


class Forbidden(KubeError):
    pass


class TooLarge(KubeError):
    pass


class EventType(StrEnum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"


class PatchType(StrEnum):
    """The content types of PATCH; server-side apply has a method of its own."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"


class WatchEvent(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """One change. A bookmark has only a revision; its object is None."""

    type: EventType
    object: T
    resource_version: str
    initial_events_end: bool = False


class Page(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    items: tuple[T, ...]
    resource_version: str
    continue_token: str = ""
    remaining_item_count: int | None = None


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """Selects objects of a resource by namespace, labels and fields."""

    namespace: str = ""
    label_selector: str = ""
    field_selector: str = ""


EVERYTHING = Selection()


class Kube(Protocol):
    """Reads are typed; writes are plain dictionaries, because a typed struct is never PUT.

    `get`, `page` and `watch` of `resource.metadata_only()` ask for PartialObjectMetadata.
    """

    async def get(self, resource: Resource[T], name: str, *, namespace: str = "") -> T: ...

    async def page(
        self,
        resource: Resource[T],
        selection: Selection = EVERYTHING,
        *,
        limit: int = PAGE_OBJECTS_MAX,
        continue_token: str = "",
    ) -> Page[T]: ...

    def watch(
        self,
        resource: Resource[T],
        selection: Selection = EVERYTHING,
        *,
        resource_version: str = "",
        send_initial_events: bool = False,
        timeout_seconds: int,
    ) -> AsyncIterator[WatchEvent[T]]:
        """Ends when the server ends it; raises Gone if the revision was compacted."""

    async def create(
        self,
        resource: Resource[T],
        body: Mapping[str, Any],
        *,
        namespace: str = "",
        field_manager: str = "",
    ) -> T: ...

    async def patch(
        self,
        resource: Resource[T],
        name: str,
        patch: Any,
        *,
        namespace: str = "",
        patch_type: PatchType = PatchType.MERGE,
        subresource: str = "",
        field_manager: str = "",
    ) -> T: ...

    async def apply(
        self,
        resource: Resource[T],
        body: Mapping[str, Any],
        *,
        field_manager: str,
        force: bool = False,
        subresource: str = "",
    ) -> T:
        """Server-side apply; name and namespace come from the body's metadata."""

    async def delete(
        self,
        resource: Resource[Any],
        name: str,
        *,
        namespace: str = "",
        uid: str = "",
        resource_version: str = "",
        propagation: str = "Background",
        grace_seconds: int | None = None,
    ) -> None:
        """`grace_seconds` limits the termination of a pod; None keeps the pod's own limit."""


Untyped = Resource[dict[str, Any]]


class Cluster(Protocol):
    """Raises the errors of `ports.kube`."""

    async def identity(self) -> str:
        """The UID of the namespace kube-system; the server's address if that cannot be read."""

    async def server_time(self) -> datetime | None:
        """The clock of the API server; None when it does not say."""

    async def kinds(self) -> tuple[Untyped, ...]:
        """One version of every kind. An API group that does not answer is an error."""

    async def page(
        self, resource: Untyped, *, limit: int, continue_token: str = ""
    ) -> Page[dict[str, Any]]: ...

    def watch(
        self, resource: Untyped, *, resource_version: str, timeout_seconds: int
    ) -> AsyncIterator[WatchEvent[dict[str, Any]]]: ...

    async def check_watch(self, resource: Untyped, *, resource_version: str) -> None:
        """Raises what a watch would raise at its start, such as Forbidden."""

    async def get(self, resource: Untyped, name: str, *, namespace: str = "") -> dict[str, Any]: ...

    async def replace_status(self, resource: Untyped, body: Mapping[str, Any]) -> None:
        """Fails with Conflict when the object has another resourceVersion than the body."""

    async def delete(self, resource: Untyped, name: str) -> None: ...
