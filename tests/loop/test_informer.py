"""The informer on a server that is well, restarts, forgets, falls silent, or is slow to start."""

import random
from collections.abc import AsyncIterator

import msgspec
import pytest

from lading.adapters.clock import VirtualClock, settle
from lading.adapters.kube.client import KubeClient
from lading.api.core import CONFIG_MAPS, ConfigMap
from lading.loop import reflector, tasks
from lading.loop.informer import Informer, Informers
from lading.observability.metrics import Metrics
from lading.ports.kube import Selection
from tests.loop import build
from tests.loop.faults import Link
from tests.loop.server import ApiServer, create_namespace, serving

Changes = list[tuple[str | None, str | None]]


def value(one: ConfigMap | None) -> str | None:
    return None if one is None else one.data.get("value", "")


@pytest.fixture
async def config_maps(informers: Informers) -> Informer[ConfigMap]:
    return informers.of(CONFIG_MAPS)


@pytest.fixture
async def changes(config_maps: Informer[ConfigMap]) -> Changes:
    seen: Changes = []
    config_maps.add_handler(lambda old, new: seen.append((value(old), value(new))))
    return seen


@pytest.fixture
async def running(
    informers: Informers, config_maps: Informer[ConfigMap]
) -> AsyncIterator[Informer[ConfigMap]]:
    async with tasks.started(informers.run()):
        await settle()
        yield config_maps


@pytest.mark.parametrize("refuses", [False, True], ids=["initial events", "pages"])
async def test_everything_that_exists_is_there_when_synced(
    refuses: bool, link: Link, kube: KubeClient, informers: Informers
) -> None:
    link.refuses_initial_events = refuses
    for number in range(1003):
        await build.create(kube, f"map-{number}", value=str(number))
    config_maps = informers.of(CONFIG_MAPS)
    assert informers.unsynced() == ("configmaps",)
    async with tasks.started(informers.run()):
        await config_maps.synced.wait()
        assert len(config_maps) == 1003
        assert value(config_maps.get(build.key("map-1002"))) == "1002"
        assert informers.unsynced() == ()


async def test_handlers_get_the_old_and_the_new_object(
    changes: Changes, running: Informer[ConfigMap], kube: KubeClient
) -> None:
    await build.create(kube, "a", value="1")
    await build.change(kube, "a", value="2")
    await build.delete(kube, "a")
    await settle()
    assert changes == [(None, "1"), ("1", "2"), ("2", None)]
    assert len(running) == 0


async def test_a_late_handler_gets_the_objects_that_are_there_already(
    running: Informer[ConfigMap], kube: KubeClient
) -> None:
    await build.create(kube, "a", value="1")
    await settle()
    seen: Changes = []
    running.add_handler(lambda old, new: seen.append((value(old), value(new))))
    assert seen == [(None, "1")]


@pytest.mark.usefixtures("running")
async def test_a_quiet_watch_is_resumed_and_not_relisted(
    changes: Changes, clock: VirtualClock, link: Link, kube: KubeClient
) -> None:
    await build.create(kube, "a", value="1")
    await clock.advance(3600)
    assert 6 <= link.watches <= 12, "watches of 5 to 10 minutes, none cut short, for an hour"
    assert link.lists == 1
    await build.change(kube, "a", value="2")
    await settle()
    assert changes == [(None, "1"), ("1", "2")]


@pytest.mark.usefixtures("running")
async def test_a_bookmark_saves_a_quiet_watch_from_a_relist_after_compaction(
    clock: VirtualClock, server: ApiServer, link: Link
) -> None:
    await create_namespace(server, "another-kind-moves-the-revision")
    await clock.advance(61)
    server.compact()
    link.cut_watches()
    await clock.advance(5)
    assert (link.watches, link.lists) == (2, 1)


async def test_what_happens_between_two_watches_is_not_missed(
    changes: Changes,
    running: Informer[ConfigMap],
    clock: VirtualClock,
    link: Link,
    kube: KubeClient,
) -> None:
    await build.create(kube, "a", value="1")
    await settle()
    link.is_down = True
    link.cut_watches()
    await build.delete(kube, "a")
    await build.create(kube, "b", value="2")
    await clock.advance(60)
    link.is_down = False
    await clock.advance(60)
    assert changes == [(None, "1"), ("1", None), (None, "2")]
    assert [one.metadata.name for one in running] == ["b"]
    assert link.lists == 1


async def test_after_410_silently_deleted_objects_are_reported_as_deleted(
    changes: Changes,
    running: Informer[ConfigMap],
    clock: VirtualClock,
    server: ApiServer,
    link: Link,
    kube: KubeClient,
) -> None:
    for name in ("kept", "changed", "deleted"):
        await build.create(kube, name, value=name)
    await settle()
    changes.clear()
    link.is_down = True
    link.cut_watches()
    await settle()
    await build.delete(kube, "deleted")
    await build.change(kube, "changed", value="new")
    server.compact()
    link.is_down = False
    await clock.advance(10)
    assert changes == [("deleted", None), ("changed", "new")]
    assert {one.metadata.name for one in running} == {"kept", "changed"}
    assert link.lists == 2


@pytest.mark.usefixtures("running")
async def test_a_half_open_watch_is_noticed_by_the_idle_time_out(
    changes: Changes, clock: VirtualClock, link: Link, kube: KubeClient
) -> None:
    link.is_silent = True
    await build.create(kube, "a", value="1")
    await clock.advance(reflector.IDLE_SECONDS_MAX - 1)
    link.is_silent = False
    assert changes == []
    await clock.advance(5)
    assert changes == [(None, "1")]
    assert link.lists == 1


async def test_a_server_that_ignores_the_wish_for_initial_events_is_listed(
    informers: Informers, clock: VirtualClock, link: Link, kube: KubeClient
) -> None:
    await build.create(kube, "a", value="1")
    link.is_silent = True  # the bookmark that ends the initial events never comes
    config_maps = informers.of(CONFIG_MAPS)
    async with tasks.started(informers.run()):
        await clock.advance(reflector.IDLE_SECONDS_MAX)
        assert config_maps.synced.is_set()
        assert len(config_maps) == 1


@pytest.mark.usefixtures("running")
async def test_a_server_that_ends_every_watch_at_once_is_asked_ever_more_slowly(
    clock: VirtualClock, link: Link
) -> None:
    for _ in range(600):
        link.cut_watches()
        await clock.advance(1)
    assert 10 < link.watches < 60


@pytest.mark.usefixtures("running")
async def test_a_server_that_has_only_old_bookmarks_is_asked_ever_more_slowly(
    clock: VirtualClock, link: Link
) -> None:
    link.bookmarks_only = True
    link.cut_watches()
    await clock.advance(600)
    assert 10 < link.watches < 60


async def test_a_list_begins_again_when_its_revision_is_gone_between_two_pages(
    informers: Informers, clock: VirtualClock, link: Link, kube: KubeClient
) -> None:
    for number in range(501):
        await build.create(kube, f"map-{number}")
    link.refuses_initial_events = True
    link.gone_pages = 2
    config_maps = informers.of(CONFIG_MAPS)
    async with tasks.started(informers.run()):
        await clock.advance(60)
        assert config_maps.synced.is_set()
        assert len(config_maps) == 501
        assert link.lists == 3 * 2


async def test_an_object_that_could_not_be_read_delays_no_other_once_it_is_fixed(
    running: Informer[ConfigMap], clock: VirtualClock, link: Link, kube: KubeClient
) -> None:
    link.spoils = b'{"bad":"1"}'
    await build.create(kube, "a", bad="1")
    await clock.advance(300)
    await build.delete(kube, "a")
    await build.create(kube, "b")
    await clock.advance(2 * reflector.RETRY.seconds_max)
    assert [one.metadata.name for one in running] == ["b"]


async def test_controllers_share_an_informer_of_the_same_selection(informers: Informers) -> None:
    assert informers.of(CONFIG_MAPS) is informers.of(CONFIG_MAPS)
    narrow = Selection(namespace=build.NAMESPACE)
    assert informers.of(CONFIG_MAPS, narrow) is informers.of(CONFIG_MAPS, narrow)
    assert informers.of(CONFIG_MAPS, narrow) is not informers.of(CONFIG_MAPS)


async def test_an_index_follows_its_objects(running: Informer[ConfigMap], kube: KubeClient) -> None:
    await build.create(kube, "a", node="one")
    await settle()
    by_node = running.index(lambda one: (one.data["node"],))
    await build.create(kube, "b", node="one")
    await build.change(kube, "a", node="two")
    await settle()
    assert [one.metadata.name for one in by_node.find("one")] == ["b"]
    assert [one.metadata.name for one in by_node.find("two")] == ["a"]
    await build.delete(kube, "b")
    await settle()
    assert by_node.find("one") == ()


async def test_metrics_count_objects_relists_and_events(
    running: Informer[ConfigMap], kube: KubeClient, metrics: Metrics
) -> None:
    await build.create(kube, "a")
    await build.change(kube, "a", value="1")
    await settle()
    sample = metrics.registry.get_sample_value
    labels = {"resource": "configmaps"}
    assert sample("lading_informer_objects", labels) == len(running) == 1
    assert sample("lading_informer_relists_total", labels) == 1
    assert sample("lading_informer_events_total", labels | {"type": "MODIFIED"}) == 1


async def test_a_resource_that_is_cached_twice_is_counted_as_one(
    informers: Informers, kube: KubeClient, metrics: Metrics
) -> None:
    await build.create(kube, "a")
    whole, metadata = informers.of(CONFIG_MAPS), informers.of(CONFIG_MAPS.metadata_only())
    async with tasks.started(informers.run()):
        await informers.wait_synced()
        found = metrics.registry.get_sample_value(
            "lading_informer_objects", {"resource": "configmaps"}
        )
        assert found == len(whole) + len(metadata) == 2


def test_two_reflectors_do_not_move_in_step() -> None:
    first, second = (
        [reflector.RETRY.delay_seconds(failures=n, jitter=rng.random()) for n in range(1, 9)]
        for rng in (random.Random(1), random.Random(2))
    )
    assert first != second
    assert all(delay <= 60 for delay in first + second)


async def test_a_server_that_was_restored_from_a_backup_is_followed(
    running: Informer[ConfigMap], clock: VirtualClock, link: Link, kube: KubeClient
) -> None:
    """Its revisions begin again below ours; none of its events may be passed over."""
    for number in range(20):
        await build.create(kube, f"lost-{number}", value="before")
    await settle()
    async with serving(clock) as restored:
        link.restored = restored, lambda: restored.revision
        link.cut_watches()
        after = KubeClient(restored)
        await build.create(after, "a", value="1")
        await clock.advance(60)
        assert [one.metadata.name for one in running] == ["a"]
        await build.change(after, "a", value="2")
        await clock.advance(1)
        assert value(running.get(build.key("a"))) == "2"


async def test_a_watch_that_goes_back_is_followed_by_a_new_list(
    running: Informer[ConfigMap], clock: VirtualClock, link: Link, kube: KubeClient
) -> None:
    await build.create(kube, "a", value="1")
    await settle()
    lists = link.lists
    link.goes_back = True
    link.cut_watches()
    await clock.advance(60)
    assert link.lists > lists
    assert value(running.get(build.key("a"))) == "1"


def test_a_revision_that_comes_again_with_other_content_is_taken() -> None:
    config_maps, seen = Informer(CONFIG_MAPS), Changes()
    config_maps.add_handler(lambda old, new: seen.append((value(old), value(new))))
    for content in ("1", "1", "2"):
        body = build.config_map("a", value=content)
        body["metadata"]["resourceVersion"] = "7"
        config_maps.put(msgspec.convert(body, ConfigMap))
    assert seen == [(None, "1"), ("1", "2")]


@pytest.mark.parametrize(
    ("revision", "than", "is_so"),
    [("9", "10", True), ("10", "9", False), ("9", "9", False), ("", "9", False), ("x", "9", False)],
)
def test_revisions_are_compared_as_numbers(revision: str, than: str, is_so: bool) -> None:
    assert reflector.is_earlier(revision, than) is is_so
