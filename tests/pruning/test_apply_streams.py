"""Applying a plan to ImageStreams and Images: order, conflicts, failures, summary."""

from datetime import timedelta
from typing import Any

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.cluster import KubeCluster
from lading.ports.http import Request as HttpRequest
from lading.ports.http import Response
from lading.pruning.engine.effects.apply_streams import ApplyingStreams
from lading.pruning.engine.effects.outcomes import PruneOutcome, Result
from lading.pruning.engine.progress import PruneProgress
from lading.pruning.engine.references.watch import NewReferences
from lading.pruning.engine.types import Deletion, Mention, Settings
from tests.pruning.builders import digest
from tests.pruning.image_streams import IMAGES, STREAMS, Streams


def results(outcomes: tuple[PruneOutcome, ...]) -> set[Result]:
    return {one.result for one in outcomes}


async def test_history_links_blobs_and_image_go(streams: Streams) -> None:
    assert results(await streams.apply()) == {Result.DELETED}
    assert await streams.items("bar") == ["new"]
    assert await streams.images() == {"new"}
    assert streams.registry.deleted == [
        "layerLink images/bar own",
        "manifestLink images/bar old",
        "blob own",
        "blob old",
    ]


async def test_1_10_j_a_link_goes_through_the_registry_before_its_data(streams: Streams) -> None:
    """So the registry drops what it has in its cache about the layer, and answers no ghost."""
    await streams.stream("other", "newer", "old")
    await streams.image("newer")
    await streams.apply()
    deleted = streams.registry.deleted
    links = ["layerLink images/bar own", "layerLink images/other own"]
    assert set(links) <= set(deleted)
    assert max(map(deleted.index, links)) < deleted.index("blob own")


async def test_a_tag_without_items_is_removed(streams: Streams) -> None:
    streams.settings = Settings(keep_younger_than=timedelta(0), keep_tag_revisions=0)
    await streams.apply()
    stream = await streams.kube.get(STREAMS, "bar", namespace="images")
    assert stream["status"]["tags"] == []


class Broken:
    """The API server with one kind of request that fails."""

    def __init__(self, inner: Any, method: str, end: str, status: int, times: int = 10**6) -> None:
        self._inner, self._method, self._end = inner, method, end
        self._status, self._left = status, times

    async def __call__(self, request: HttpRequest) -> Response:
        if request.method == self._method and request.path.endswith(self._end) and self._left:
            self._left -= 1
            body = b'{"kind":"Status","status":"Failure","reason":"Conflict","message":"no"}'
            return Response(status=self._status, body=body)
        answer: Response = await self._inner(request)
        return answer


async def test_a_conflict_is_tried_again(streams: Streams) -> None:
    streams.kube = KubeClient(Broken(streams.api, "PUT", "/bar/status", 409, times=3))
    await streams.apply()
    assert await streams.items("bar") == ["new"]


@pytest.mark.parametrize("status", [409, 500, 403])
async def test_1_10_a_b_e06_a_failed_update_deletes_nothing_of_the_stream(
    streams: Streams, status: int
) -> None:
    streams.kube = KubeClient(Broken(streams.api, "PUT", "/bar/status", status))
    await streams.image("rest")
    outcomes = await streams.apply()
    assert Result.FAILED in results(outcomes)
    assert streams.registry.deleted == ["blob rest"]
    assert await streams.images() == {"new", "old"}
    assert await streams.items("bar") == ["new", "old"]


@pytest.mark.parametrize("blobs", [{"blob own"}, {"blob own", "blob old"}])
async def test_e01_e02_1_10_i_an_image_stays_while_one_of_its_blobs_does(
    streams: Streams, blobs: set[str]
) -> None:
    streams.registry.failing = blobs
    assert Result.FAILED in results(await streams.apply())
    assert await streams.images() == {"new", "old"}, "ours keeps more"


@pytest.mark.parametrize(
    "link", ["manifestLink images/bar old", "layerLink images/bar own"], ids=["E03", "E04"]
)
async def test_e03_e04_r13_after_a_failed_link_the_rest_goes(streams: Streams, link: str) -> None:
    streams.registry.failing = {link}
    outcomes = await streams.apply()
    assert [one.result for one in outcomes].count(Result.FAILED) == 1
    assert await streams.images() == {"new"}


async def test_e05_an_image_that_cannot_be_deleted_is_reported(streams: Streams) -> None:
    await streams.image("rest")
    streams.kube = KubeClient(Broken(streams.api, "DELETE", digest("old")[7:], 500))
    outcomes = await streams.apply()
    failed = [one for one in outcomes if one.result is Result.FAILED]
    assert digest("old") in failed[0].message
    assert await streams.images() == {"new", "old"}


async def test_an_image_that_is_pushed_again_meanwhile_keeps_its_links(streams: Streams) -> None:
    pruner = streams.pruner()
    plan = pruner.plan(await pruner.observe())
    stream = await streams.kube.get(STREAMS, "bar", namespace="images")
    await streams.set_items(stream, "old", "new")
    assert plan.deletions
    outcomes = (await pruner.apply((plan.header, plan.deletions))).outcomes
    assert not outcomes, "by the fresh plan `old` is the current image"
    assert streams.registry.deleted == []


class PushMeanwhile:
    """Pushes an image into the stream right before the stream is read to be trimmed."""

    def __init__(self, streams: Streams) -> None:
        self._streams, self._inner, self._is_done = streams, streams.kube, False
        self._api = streams.api

    async def __call__(self, request: HttpRequest) -> Response:
        if request.path.endswith("/imagestreams/bar") and not self._is_done:
            self._is_done = True
            await self._streams.image("fresh", "own")
            stream = await self._inner.get(STREAMS, "bar", namespace="images")
            item = {"image": digest("fresh"), "created": "2026-01-01T00:01:30Z"}
            stream["status"]["tags"][0]["items"].insert(0, item)
            await KubeCluster(self._inner, address="").replace_status(STREAMS, stream)
        return await self._api(request)


async def test_1_10_h_a_push_meanwhile_keeps_the_layers_that_it_shares(streams: Streams) -> None:
    """The inventory does not have the new image, so its layers are read when the stream is."""
    streams.kube = KubeClient(PushMeanwhile(streams))
    outcomes = await streams.apply()
    assert await streams.items("bar") == ["fresh", "new"]
    assert "manifestLink images/bar old" in streams.registry.deleted
    assert not {"layerLink images/bar own", "blob own"} & {*streams.registry.deleted}
    assert Result.FAILED not in {one.result for one in outcomes}


async def planned(
    streams: Streams, *mentions: Mention
) -> tuple[ApplyingStreams, tuple[Deletion, ...]]:
    """A plan, and the run that applies it with what is mentioned since."""
    pruner = streams.pruner()
    observed = await pruner.observe()
    new = NewReferences(observed.names)
    new.add(mentions)
    applying = ApplyingStreams(
        KubeCluster(streams.kube, address=""),
        streams.registry,  # type: ignore[arg-type]
        observed.inventory,
        new=new,
        clock=SystemClock(),
        trash=None,
        now=observed.now,
        progress=PruneProgress(),
    )
    return applying, pruner.plan(observed).deletions


@pytest.mark.parametrize(
    ("used", "expected"),
    [("old", {Result.NEW_REFERENCE, Result.CHANGED}), ("orphan", {Result.NEW_REFERENCE})],
)
async def test_1_10_h_a_pod_that_starts_meanwhile_keeps_the_item_and_the_image(
    streams: Streams, used: str, expected: set[Result]
) -> None:
    """`old` is an item of a stream; no stream names `orphan`."""
    await streams.image("orphan", "alone")
    mention = Mention(f"elsewhere.test/images/bar@{digest(used)}", "Pod a/b")
    applying, lines = await planned(streams, mention)
    outcomes = await applying.run(lines)
    own = {"images/bar", digest(used)} if used == "old" else {digest(used)}
    assert {one.result for one in outcomes if one.line.group in own} == expected
    assert used in await streams.images()


async def test_an_image_that_is_gone_already_counts_as_deleted(streams: Streams) -> None:
    await streams.image("orphan")
    applying, lines = await planned(streams)
    await streams.kube.delete(IMAGES, digest("orphan"))
    outcomes = await applying.run(lines)
    found = {one.result for one in outcomes if one.line.group == digest("orphan")}
    assert found == {Result.DELETED}


async def test_without_the_registry_only_objects_go(streams: Streams) -> None:
    streams.settings = Settings(
        keep_younger_than=timedelta(0), keep_tag_revisions=1, prune_registry=False
    )
    await streams.apply()
    assert streams.registry.deleted == []
    assert await streams.images() == {"new"}


async def test_b10_when_nothing_goes_the_registry_is_not_called(streams: Streams) -> None:
    streams.settings = Settings(keep_younger_than=timedelta(0))
    assert await streams.apply() == ()
    assert streams.registry.deleted == []
