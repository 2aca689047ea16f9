"""A cluster that lists and watches as a test wants."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from lading.kernel.objects import Resource
from lading.ports import kube
from lading.ports.kube import Page, Untyped, WatchEvent
from tests.pruning.builders import NOW


def kind(plural: str, name: str, group: str = "") -> Untyped:
    return Resource(group=group, version="v1", kind=name, plural=plural, namespaced=True, type=dict)


PODS = kind("pods", "Pod")


@dataclass
class FakeCluster:
    """A cluster that lists as a test wants."""

    served: tuple[Untyped, ...] = (PODS,)
    pages: dict[str, list[list[dict[str, Any]]]] = field(default_factory=dict)
    errors: dict[str, list[Exception]] = field(default_factory=dict)
    events: list[WatchEvent[dict[str, Any]] | Exception] = field(default_factory=list)
    time: datetime | None = NOW
    limits: list[int] = field(default_factory=list)
    versions: list[str] = field(default_factory=list)
    """Where each watch began."""
    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By name, whatever their kind."""

    async def identity(self) -> str:
        return "uid"

    async def server_time(self) -> datetime | None:
        return self.time

    async def kinds(self) -> tuple[Untyped, ...]:
        return self.served

    async def page(
        self, resource: Untyped, *, limit: int, continue_token: str = ""
    ) -> Page[dict[str, Any]]:
        self.limits.append(limit)
        number = int(continue_token or 0)
        pages = self.pages.get(resource.plural, [[]])
        left = self.errors.get(resource.plural, [])
        if left and number == len(pages) - 1:
            raise left.pop(0)
        following = str(number + 1) if number + 1 < len(pages) else ""
        return Page(items=tuple(pages[number]), resource_version="7", continue_token=following)

    async def watch(
        self, resource: Untyped, *, resource_version: str, timeout_seconds: int
    ) -> AsyncIterator[WatchEvent[dict[str, Any]]]:
        self.versions.append(resource_version)
        while self.events:
            event = self.events.pop(0)
            if isinstance(event, Exception):
                raise event
            yield event
        raise kube.Gone("too old")

    async def check_watch(self, resource: Untyped, *, resource_version: str) -> None:
        pass

    async def get(self, resource: Untyped, name: str, *, namespace: str = "") -> dict[str, Any]:
        if name not in self.objects:
            raise kube.NotFound(f"{resource.plural} {name} not found")
        return self.objects[name]

    async def replace_status(self, resource: Untyped, body: Any) -> None:
        raise NotImplementedError

    async def delete(self, resource: Untyped, name: str) -> None:
        raise NotImplementedError
