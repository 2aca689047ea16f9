"""Facts that no cache has: reads of things that never change, and results of writes.

`observe` reads them like a cache. `apply` only adds to the log of writes.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, TypeVar

from lading.api.core import PODS
from lading.kernel.objects import Object
from lading.kernel.planning import LastWrite
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.kube import Kube

T = TypeVar("T")
OWN_CONTAINER = "controller"


class ReadOnce(Generic[T]):
    """A fact that never changes. It is read until it is found."""

    def __init__(self, read: Callable[[], Awaitable[T | None]]) -> None:
        self._read = read
        self._found: T | None = None

    async def get(self) -> T | None:
        if self._found is None:
            self._found = await self._read()
        return self._found


async def own_image(api: Kube, *, option: str, pod_name: str, namespace: str) -> str | None:
    """The option, or the image of the controller's own pod; None if neither is known."""
    if option or not pod_name:
        return option or None
    try:
        pod = await api.get(PODS, pod_name, namespace=namespace)
    except (kube.NotFound, kube.Forbidden):
        return None
    images = {one.name: one.image for one in pod.spec.containers}
    return images.get(OWN_CONTAINER) or next(iter(images.values()), None)


class WriteLog:
    """The last write of this process to each object."""

    def __init__(self, clock: Clock, changed: Callable[[], None] = lambda: None) -> None:
        """`changed` is called after each write, because no cache shows a refusal."""
        self._clock = clock
        self._changed = changed
        self._writes: dict[str, LastWrite] = {}

    def all(self) -> Mapping[str, LastWrite]:
        return dict(self._writes)

    async def record(
        self, name: str, body: Mapping[str, Any] | None, write: Awaitable[Object | None]
    ) -> Object | None:
        """Awaits the write and records its result."""
        try:
            answer = await write
        except (kube.Forbidden, kube.Invalid) as error:
            before = self._writes.get(name)
            accepted = before.answer if before else None
            self._add(name, body, accepted, refusal=str(error))
            raise
        self._add(name, body, answer)
        return answer

    def _add(
        self, name: str, body: Mapping[str, Any] | None, answer: Object | None, refusal: str = ""
    ) -> None:
        self._writes[name] = LastWrite(
            body=body, at=self._clock.now(), answer=answer, refusal=refusal
        )
        self._changed()
