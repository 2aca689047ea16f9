"""Events: two forms of one object."""

from tests.servers.kube.cluster import Cluster, Document, decoded

CORE = "/api/v1/namespaces/default/events"
GROUP = "/apis/events.k8s.io/v1/namespaces/default/events"


def event(name: str) -> Document:
    about = {"kind": "Pod", "namespace": "default", "name": "p"}
    return {"metadata": {"name": name}, "involvedObject": about, "message": "it began"}


async def test_an_event_is_the_same_object_in_both_groups() -> None:
    cluster = Cluster()
    await cluster.create(CORE, event("a"))
    found = await cluster.read(f"{GROUP}/a")
    assert (found["apiVersion"], found["note"]) == ("events.k8s.io/v1", "it began")
    assert found["regarding"]["name"] == "p"
    assert "message" not in found


async def test_an_event_of_the_newer_form_is_listed_in_the_core() -> None:
    cluster = Cluster()
    newer = {
        "metadata": {"name": "a"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "lading.dev/test",
        "reportingInstance": "x",
        "action": "Test",
        "reason": "Tested",
        "type": "Normal",
        "regarding": {"kind": "Pod", "namespace": "default", "name": "p"},
        "note": "it went on",
    }
    await cluster.create(GROUP, newer)
    (found,) = (await cluster.read(CORE))["items"]
    assert (found["message"], found["reportingComponent"]) == ("it went on", "lading.dev/test")


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
