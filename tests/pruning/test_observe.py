"""Reading clusters and registries: complete, or an error; and how many requests it takes."""

import json
from datetime import timedelta
from typing import Any

import pytest

from lading.adapters.clock import SystemClock, VirtualClock
from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.cluster import KubeCluster
from lading.kernel.digests import Digest
from lading.kernel.errors import Malformed
from lading.kernel.references import Reference
from lading.kernel.values import replace
from lading.ports import kube
from lading.ports import registry as registries
from lading.ports.http import Request, Response
from lading.ports.kube import EventType, Untyped, WatchEvent
from lading.ports.registry import Manifest
from lading.pruning.engine import ledger
from lading.pruning.engine.inventory import observe_registry
from lading.pruning.engine.inventory.manifest_table import ManifestTable
from lading.pruning.engine.inventory.observe_registry import Scope
from lading.pruning.engine.references import custom_paths, observe, references_file, watch
from lading.pruning.engine.references.custom_paths import READY_MADE, CustomPath
from lading.pruning.engine.references.observe import (
    ClusterReferences,
    Reading,
    ReferencesIncomplete,
)
from lading.pruning.engine.references.watch import NewReferences, WatchLost
from lading.pruning.engine.types import Deletion, Settings, What
from tests.pruning.builders import NAMES, NOW, REGISTRY, pod
from tests.pruning.fake_clusters import PODS, FakeCluster, kind
from tests.pruning.memory_registry import MemoryRegistry, Repository
from tests.pruning.worlds import World

READING = Reading(settings=Settings(), custom=READY_MADE)


async def read(cluster: FakeCluster) -> ClusterReferences:
    return await observe.references(cluster, SystemClock(), READING)


def texts(found: ClusterReferences) -> set[str]:
    return {mention.text for mention in found.mentions}


async def test_every_page_is_read() -> None:
    pages = [[pod("a:1")], [], [pod("b:1")]]
    assert texts(await read(FakeCluster(pages={"pods": pages}))) == {"a:1", "b:1"}


async def test_a_list_that_expires_is_read_again_the_last_time_in_one_piece() -> None:
    gone: list[Exception] = [kube.Gone("410"), kube.Gone("410")]
    cluster = FakeCluster(pages={"pods": [[pod("a:1")], [pod("b:1")]]}, errors={"pods": gone})
    assert texts(await read(cluster)) == {"a:1", "b:1"}
    assert cluster.limits[-1] == 0


async def test_a_list_that_always_expires_is_an_error() -> None:
    gone: list[Exception] = [kube.Gone("410") for _ in range(10)]
    cluster = FakeCluster(pages={"pods": [[pod("a:1")]]}, errors={"pods": gone})
    with pytest.raises(ReferencesIncomplete, match="expired 3 times"):
        await read(cluster)


@pytest.mark.parametrize(
    "error", [kube.Forbidden("no"), kube.Unavailable("503"), kube.NotFound("?")]
)
async def test_a_list_that_fails_after_its_first_page_is_an_error(error: Exception) -> None:
    cluster = FakeCluster(pages={"pods": [[pod("a:1")], []]}, errors={"pods": [error]})
    with pytest.raises(ReferencesIncomplete, match="the list of pods failed"):
        await read(cluster)


async def test_a_role_that_may_not_list_controller_revisions_is_an_error() -> None:
    """As `system:image-pruner` of OpenShift."""
    revisions = kind("controllerrevisions", "ControllerRevision", "apps")
    cluster = FakeCluster(
        served=(PODS, revisions),
        errors={"controllerrevisions": [kube.Forbidden("forbidden")]},
    )
    with pytest.raises(ReferencesIncomplete) as raised:
        await read(cluster)
    granted = "verbs get, list and watch on controllerrevisions of API group apps"
    for words in ("controllerrevisions failed", granted, "Nothing is deleted"):
        assert words in str(raised.value)


async def test_a_server_that_lists_no_pods_is_an_error() -> None:
    with pytest.raises(ReferencesIncomplete, match="does not list pods"):
        await read(FakeCluster(served=()))


async def test_custom_resources_are_read_where_they_are_served() -> None:
    rollouts = kind("rollouts", "Rollout", "argoproj.io")
    document = {"metadata": {}, "spec": {"template": {"spec": {"containers": [{"image": "r:1"}]}}}}
    cluster = FakeCluster(served=(PODS, rollouts), pages={"rollouts": [[document]]})
    assert texts(await read(cluster)) == {"r:1"}


async def test_a_declared_kind_that_no_cluster_serves_is_an_error() -> None:
    """Its images would be deleted as unused, for a typing error in an option."""
    declared = custom_paths.parse("databases.example.com=$.spec.image")
    reading = replace(READING, custom=(*READING.custom, declared))
    databases = kind("databases", "Database", "example.com")
    clusters = [FakeCluster(), FakeCluster(served=(PODS, databases))]
    with pytest.raises(ReferencesIncomplete) as raised:
        await observe.of_clusters(clusters[:1], SystemClock(), reading)
    assert "no cluster serves databases.example.com; `kubectl api-resources`" in str(raised.value)
    with pytest.raises(ReferencesIncomplete, match=r"example\.com \(the kind is Database\)"):
        await observe.of_clusters(clusters[1:], SystemClock(), reading)


async def test_a_declared_kind_is_enough_in_one_of_the_clusters() -> None:
    declared = custom_paths.parse("Database.example.com=$.spec.image")
    reading = replace(READING, custom=(*READING.custom, declared))
    databases = kind("databases", "Database", "example.com")
    document = {"metadata": {}, "spec": {"image": "d:1"}}
    clusters = [
        FakeCluster(),
        FakeCluster(served=(PODS, databases), pages={"databases": [[document]]}),
    ]
    found = await observe.of_clusters(clusters, SystemClock(), reading)
    assert [texts(one) for one in found] == [set(), {"d:1"}]


DATABASE = custom_paths.parse("Database.example.com=$.spec.image")
DATABASES = kind("databases", "Database", "example.com")


@pytest.mark.parametrize(
    ("served", "custom", "sentence"),
    [
        pytest.param((PODS,), (), "", id="its cluster does not serve the kind"),
        pytest.param((PODS, DATABASES), (DATABASE,), "", id="it was written with the path"),
        pytest.param(
            (PODS, DATABASES),
            (),
            r"were read without --custom-path 'Database\.example\.com=\$\.spec\.image'",
            id="it was written without the path",
        ),
        pytest.param(
            (PODS, DATABASES),
            (replace(DATABASE, path="$.spec.other"),),
            "were read without --custom-path",
            id="it was written with another path",
        ),
        pytest.param(None, (), "were read without --custom-path", id="it has no kinds"),
    ],
)
async def test_a_file_of_references_must_have_what_the_run_declares(
    served: tuple[Untyped, ...] | None, custom: tuple[CustomPath, ...], sentence: str
) -> None:
    """Else what the objects of its cluster name would be deleted as unused."""
    cluster = FakeCluster(served=served or (PODS,))
    found = await observe.references(
        cluster, SystemClock(), replace(READING, custom=(*READING.custom, *custom))
    )
    if served is None:
        found = replace(found, served=None)
    written = references_file.encode(found)
    file = references_file.decode(
        written, name="f", now=found.taken_at, age_max=timedelta(minutes=1)
    )
    reading = replace(READING, custom=(*READING.custom, DATABASE))
    here = FakeCluster(served=(PODS, DATABASES))
    asked = observe.of_clusters([here], SystemClock(), reading, files=[file])
    if sentence:
        with pytest.raises(ReferencesIncomplete, match=sentence):
            await asked
    else:
        await asked
    await observe.of_clusters([here], SystemClock(), READING, files=[file])


async def test_a_declared_kind_that_no_file_has_is_an_error() -> None:
    """Where only files are named, no cluster is asked."""
    found = await observe.references(FakeCluster(), SystemClock(), READING)
    reading = replace(READING, custom=(*READING.custom, DATABASE))
    with pytest.raises(ReferencesIncomplete, match=r"no cluster serves Database\.example\.com;"):
        await observe.of_clusters([], SystemClock(), reading, files=[found])
    assert await observe.of_clusters([], SystemClock(), reading) == (), "nothing is asked"


async def test_a_group_with_failing_discovery_is_an_error(world: World) -> None:
    async def stale(request: Request) -> Response:
        answer = await world.api(request)
        if request.path != "/apis" or not isinstance(answer.body, bytes):
            return answer
        groups = json.loads(answer.body)
        groups["items"].append(
            {
                "metadata": {"name": "broken.io"},
                "versions": [{"version": "v1", "resources": [], "freshness": "Stale"}],
            }
        )
        return Response(status=200, headers=answer.headers, body=json.dumps(groups).encode())

    cluster = KubeCluster(KubeClient(stale), address="test")
    with pytest.raises(ReferencesIncomplete, match=r"API group broken\.io failed"):
        await observe.references(cluster, SystemClock(), READING)


async def test_a_finished_pod_is_old_by_the_clock_of_the_server() -> None:
    """Our clock is an hour ahead; by the server's the pod is young."""
    finished = pod("a:1", phase="Succeeded", minutes=10)
    assert texts(await read(FakeCluster(pages={"pods": [[finished]]}))) == {"a:1"}


def test_a_file_of_references_survives() -> None:
    found = ClusterReferences(cluster="uid", taken_at=NOW, mentions=(), mirrors=(("a", "b"),))
    content = references_file.encode(found)
    age = NOW - NOW
    assert references_file.decode(content, name="f", now=NOW, age_max=age) == found


def test_a_file_of_references_with_a_path_that_is_none_is_refused() -> None:
    found = ClusterReferences(
        cluster="uid", taken_at=NOW, mentions=(), custom=(replace(DATABASE, path="$.["),)
    )
    with pytest.raises(Malformed, match="not what `lading prune references` writes"):
        references_file.decode(
            references_file.encode(found), name="f", now=NOW, age_max=timedelta(hours=1)
        )


def test_a_file_of_references_from_the_future_is_refused() -> None:
    """Its cluster is ahead of us: it may be older than it says."""
    found = ClusterReferences(cluster="uid", taken_at=NOW, mentions=())
    earlier = NOW - timedelta(hours=1)
    with pytest.raises(Malformed, match="from the future"):
        references_file.decode(
            references_file.encode(found), name="f", now=earlier, age_max=timedelta(hours=1)
        )


@pytest.mark.parametrize(("by_size", "found"), [(False, set()), (True, {f"{REGISTRY}/a:1"})])
async def test_with_size_limits_a_finished_pod_protects_at_any_age(
    by_size: bool, found: set[str]
) -> None:
    over = pod(f"{REGISTRY}/a:1", phase="Succeeded", minutes=10_000)
    cluster = FakeCluster(pages={"pods": [[over]]})
    reading = Reading(settings=Settings(prune_over_size_limit=by_size), custom=())
    assert texts(await observe.references(cluster, SystemClock(), reading)) == found


def changed(text: str) -> WatchEvent[dict[str, Any]]:
    return WatchEvent(type=EventType.ADDED, object=pod(text), resource_version="8")


LINE = Deletion(what=What.TAG, repository="team/app", tag="v1", digest=str(Digest.of(b"x")))


@pytest.mark.parametrize(
    "text",
    [
        f"{REGISTRY}/team/app:v1",
        "mirror.test/team/app:v1",
        f"other.test/x@{Digest.of(b'x')}",
        "team/app:$VERSION",
    ],
)
async def test_a_new_reference_is_seen_and_a_lost_watch_stops_all(text: str) -> None:
    new = NewReferences(NAMES)
    new.add(READING.mentions(pod(text), PODS, None))
    assert new.user_of([LINE]) == "Pod foo/pod"
    new.lose("gone")
    with pytest.raises(WatchLost, match="gone"):
        new.user_of([LINE])


async def test_a_watch_that_expired_is_lost() -> None:
    cluster = FakeCluster(events=[changed(f"{REGISTRY}/a:1"), kube.Unavailable("503")])
    found = ClusterReferences(cluster="c", taken_at=NOW, mentions=(), watched=((PODS, "7"),))
    new = NewReferences(NAMES)
    clock = VirtualClock()
    async with watch.watching([(cluster, found)], READING, new, clock):
        await clock.advance(0)
        assert new.user_of([Deletion(what=What.TAG, repository="a", tag="1")]) == "Pod foo/pod"
        await clock.advance(watch.RETRY.seconds_min)
        with pytest.raises(WatchLost, match="the watch of pods failed"):
            new.user_of([LINE])


@pytest.mark.parametrize("event", [EventType.ADDED, EventType.MODIFIED])
async def test_every_reference_of_a_watch_is_seen_from_the_list_on(event: EventType) -> None:
    """A finished pod counts at any age: it changes, so it may run again."""
    over = pod(f"{REGISTRY}/b:2", phase="Succeeded", minutes=10_000)
    events = [
        changed(f"{REGISTRY}/a:1"),
        WatchEvent(type=event, object=over, resource_version="9"),
        WatchEvent(type=EventType.DELETED, object=pod(f"{REGISTRY}/c:3"), resource_version="10"),
    ]
    failures = [kube.Unavailable("503")] * watch.FAILURES_MAX
    cluster = FakeCluster(events=[*failures, *events, *failures, kube.Unavailable("last")])
    found = ClusterReferences(cluster="c", taken_at=NOW, mentions=(), watched=((PODS, "7"),))
    new = NewReferences(NAMES)
    clock = VirtualClock(NOW)
    async with watch.watching([(cluster, found)], READING, new, clock):
        await clock.advance(40)
        for line, user in (("a:1", "Pod foo/pod"), ("b:2", "Pod foo/pod"), ("c:3", "")):
            repository, _, tag = line.partition(":")
            deletion = Deletion(what=What.TAG, repository=repository, tag=tag)
            assert new.user_of([deletion]) == user, line
        await clock.advance(120)
        with pytest.raises(WatchLost, match="last"):
            new.user_of([LINE])
    assert cluster.versions == ["7"] * (watch.FAILURES_MAX + 1) + ["10"] * watch.FAILURES_MAX


async def test_a_watch_that_ends_by_an_error_of_ours_is_lost() -> None:
    cluster = FakeCluster(events=[TypeError("no such field")])
    found = ClusterReferences(cluster="c", taken_at=NOW, mentions=(), watched=((PODS, "7"),))
    new = NewReferences(NAMES)
    clock = VirtualClock()
    async with watch.watching([(cluster, found)], READING, new, clock):
        await clock.advance(0)
        with pytest.raises(WatchLost, match="no such field"):
            new.user_of([LINE])


async def many_tags(count: int) -> MemoryRegistry:
    registry = MemoryRegistry(has_referrers=False)
    for number in range(count):
        place = Reference(registry=REGISTRY, repository="a", tag=f"t{number}")
        content = json.dumps({"layers": [], "n": number // 2}).encode()
        manifest = Manifest(media_type="", digest=Digest.of(content), content=content)
        await registry.push_manifest(place, manifest)
    registry.calls = 0
    return registry


async def test_a_used_digest_without_a_tag_is_read_where_it_is() -> None:
    registry = MemoryRegistry(has_referrers=False)
    content = json.dumps({"layers": [], "n": "used"}).encode()
    manifest = Manifest(media_type="", digest=Digest.of(content), content=content)
    used = str(manifest.digest)
    place = Reference(registry=REGISTRY, repository="team/a", digest=manifest.digest)
    await registry.push_manifest(place, manifest)
    registry.repositories |= {"other/a": Repository(), "team/b": Repository()}
    known = ManifestTable()
    for run, calls in enumerate((6, 6)):
        registry.calls = 0
        found = await observe_registry.inventory(
            registry,
            Scope(registry=REGISTRY),
            known=known,
            remembered=ledger.EMPTY,
            used=[("a", used), ("team/a", used), ("", used)],
        )
        held = {name: one.manifests for name, one in found.repositories.items()}
        assert held == {"team/a": (used,), "other/a": (), "team/b": ()}, run
        assert registry.calls == calls, "the catalogue, three lists of tags, and where it may be"


async def test_a_wrong_digest_keeps_its_repository_and_a_failure_is_an_error() -> None:
    registry = await many_tags(4)
    original = registry.manifest
    wrong = min(registry.repositories["a"].manifests)
    failure: list[Exception] = []

    async def broken(reference: Reference) -> Manifest:
        if failure:
            raise failure.pop()
        found = await original(reference)
        if str(found.digest) == wrong:
            raise registries.DigestMismatch("wrong")
        return found

    registry.manifest = broken  # type: ignore[method-assign]
    scope = Scope(registry=REGISTRY)
    found = await observe_registry.inventory(
        registry, scope, known=ManifestTable(), remembered=ledger.EMPTY
    )
    assert found.repositories["a"].opaque_digests == (wrong,)
    assert len(found.repositories["a"].tags) == 4
    failure.append(registries.Unavailable("503"))
    with pytest.raises(ExceptionGroup):
        await observe_registry.inventory(
            registry, scope, known=ManifestTable(), remembered=ledger.EMPTY
        )
