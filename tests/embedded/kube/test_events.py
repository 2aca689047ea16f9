"""Events: one object in two API groups, deleted after an hour."""

from datetime import UTC, datetime, timedelta

from lading.embedded.kube import authentication, events
from lading.embedded.kube.core import Core
from lading.embedded.kube.storage.memory import MemoryStorage
from tests.embedded.kube.cluster import TOKEN, Cluster, Document, decoded

CORE = "/api/v1/namespaces/default/events"
GROUP = "/apis/events.k8s.io/v1/namespaces/default/events"


def event(name: str) -> Document:
    about = {"kind": "Pod", "namespace": "default", "name": "p"}
    return {"metadata": {"name": name}, "involvedObject": about, "message": "it began"}


async def test_an_event_is_answered_with_the_fields_that_are_not_set() -> None:
    cluster = Cluster()
    await cluster.create(CORE, event("a"))
    (core,) = (await cluster.read(CORE))["items"]
    assert (core["firstTimestamp"], core["lastTimestamp"], core["source"]) == (None, None, {})
    (newer,) = (await cluster.read(GROUP))["items"]
    assert (newer["deprecatedLastTimestamp"], newer["eventTime"]) == (None, None)


async def test_an_event_that_is_sent_back_as_it_was_read_does_not_change() -> None:
    cluster = Cluster()
    await cluster.create(CORE, event("a"))
    found = await cluster.read(f"{CORE}/a")
    response = await cluster.call("PUT", f"{CORE}/a", found)
    assert decoded(response) == found


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


async def test_an_event_goes_an_hour_after_it_was_written() -> None:
    clock = SteppedClock()
    cluster = Cluster()
    cluster.storage = MemoryStorage()
    cluster.core = Core(cluster.storage, clock, tokens={TOKEN: authentication.ADMIN})
    await cluster.create(CORE, event("early"))
    clock.time += events.KEPT - timedelta(seconds=1)
    await cluster.create(CORE, event("later"))
    clock.time += timedelta(seconds=1)
    await cluster.create(CORE, event("last"))
    names = [each["metadata"]["name"] for each in (await cluster.read(CORE))["items"]]
    assert names == ["last", "later"]
