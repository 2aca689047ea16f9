"""Events end after an hour."""

from datetime import UTC, datetime, timedelta

from lading.servers.kube import authentication, event_expiry
from lading.servers.kube.core import Core
from lading.servers.kube.storage.memory import MemoryStorage
from tests.servers.kube.cluster import TOKEN, Cluster, Document

CORE = "/api/v1/namespaces/default/events"


class SteppedClock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return self.time.timestamp()

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("nothing here waits")


def event(name: str) -> Document:
    about = {"kind": "Pod", "namespace": "default", "name": "p"}
    return {"metadata": {"name": name}, "involvedObject": about, "message": "it began"}


async def test_an_event_goes_an_hour_after_it_was_written() -> None:
    clock = SteppedClock()
    cluster = Cluster()
    cluster.storage = MemoryStorage()
    cluster.core = Core(cluster.storage, clock, tokens={TOKEN: authentication.ADMIN})
    await cluster.create(CORE, event("early"))
    clock.time += event_expiry.KEPT - timedelta(seconds=1)
    await cluster.create(CORE, event("later"))
    clock.time += timedelta(seconds=1)
    await cluster.create(CORE, event("last"))
    names = [each["metadata"]["name"] for each in (await cluster.read(CORE))["items"]]
    assert names == ["last", "later"]
