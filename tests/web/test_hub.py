"""A page gets everything, then what changed, and everything again when it was too slow."""

import json
from typing import Any

from lading.web.hub import PENDING_EVENTS_MAX, Hub


def events(text: bytes) -> list[tuple[str, Any]]:
    found = []
    for event in text.decode().split("\n\n")[:-1]:
        name, data = event.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def test_a_new_page_gets_everything() -> None:
    hub = Hub()
    hub.put("nodes", "a", {"pool": "worker"})
    with hub.subscribed() as page:
        assert events(hub.text_for(page)) == [
            ("snapshot", {"put": {"nodes": {"a": {"pool": "worker"}}}})
        ]


def test_then_it_gets_only_what_changed() -> None:
    hub = Hub()
    hub.put("nodes", "a", 1)
    hub.put("nodes", "b", 1)
    hub.publish()
    with hub.subscribed() as page:
        page.take()
        hub.put("nodes", "a", 1)
        hub.put("nodes", "b", 2)
        hub.publish()
        assert events(hub.text_for(page)) == [("delta", {"put": {"nodes": {"b": 2}}, "drop": {}})]


def test_a_value_that_is_as_it_was_causes_no_event() -> None:
    hub = Hub()
    hub.put("nodes", "a", 1)
    hub.publish()
    with hub.subscribed() as page:
        page.take()
        hub.put("nodes", "a", 1)
        hub.publish()
        assert hub.text_for(page) == b""


def test_what_is_gone_is_dropped() -> None:
    hub = Hub()
    hub.replace("sets", {"a": 1, "b": 2})
    hub.publish()
    with hub.subscribed() as page:
        page.take()
        hub.replace("sets", {"b": 2})
        hub.publish()
        assert events(hub.text_for(page)) == [("delta", {"put": {}, "drop": {"sets": ["a"]}})]


def test_what_is_gone_and_comes_back_is_not_dropped() -> None:
    hub = Hub()
    hub.put("sets", "a", 1)
    hub.publish()
    with hub.subscribed() as page:
        page.take()
        hub.drop("sets", "a")
        hub.put("sets", "a", 2)
        hub.publish()
        [(_, delta)] = events(hub.text_for(page))
        assert delta["put"] == {"sets": {"a": 2}}
        assert not delta["drop"].get("sets")


def test_a_page_that_is_too_slow_gets_everything_again() -> None:
    hub = Hub()
    with hub.subscribed() as page:
        for number in range(PENDING_EVENTS_MAX + 5):
            hub.put("nodes", "a", number)
            hub.publish()
        last = PENDING_EVENTS_MAX + 4
        assert events(hub.text_for(page)) == [("snapshot", {"put": {"nodes": {"a": last}}})]
        hub.put("nodes", "a", "next")
        hub.publish()
        assert events(hub.text_for(page)) == [
            ("delta", {"put": {"nodes": {"a": "next"}}, "drop": {}})
        ]


def test_every_page_gets_every_change() -> None:
    hub = Hub()
    with hub.subscribed() as one, hub.subscribed() as other:
        one.take()
        other.take()
        hub.put("nodes", "a", 1)
        hub.publish()
        expected = [("delta", {"put": {"nodes": {"a": 1}}, "drop": {}})]
        assert events(hub.text_for(one)) == events(hub.text_for(other)) == expected


def test_a_page_that_is_closed_is_forgotten() -> None:
    hub = Hub()
    with hub.subscribed(), hub.subscribed():
        assert hub.pages == 2
    assert hub.pages == 0
