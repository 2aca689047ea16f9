"""Applying a plan to ImageStreams and Images: order, conflicts, failures, summary."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.cluster import KubeCluster
from lading.kernel.digests import Digest
from lading.kernel.objects import Resource
from lading.kernel.references import Reference
from lading.ports import registry as registries
from lading.ports.http import Request as HttpRequest
from lading.ports.http import Response
from lading.pruning.engine import policy
from lading.pruning.engine.apply import PruneOutcome, Result
from lading.pruning.engine.controller import Pruner, PruneRequest
from lading.pruning.engine.guards import Limits
from lading.pruning.engine.observe import Reading
from lading.pruning.engine.observe_registry import KnownManifests
from lading.pruning.engine.types import Settings, Source
from tests.loop import server as kube_server
from tests.pruning.builders import REGISTRY, digest, name_of

GROUP = "image.openshift.io"
CRDS: Resource[dict[str, Any]] = Resource(
    group="apiextensions.k8s.io",
    version="v1",
    kind="CustomResourceDefinition",
    plural="customresourcedefinitions",
    namespaced=False,
    type=dict,
)
STREAMS: Resource[dict[str, Any]] = Resource(
    group=GROUP, version="v1", kind="ImageStream", plural="imagestreams", namespaced=True, type=dict
)
IMAGES: Resource[dict[str, Any]] = Resource(
    group=GROUP, version="v1", kind="Image", plural="images", namespaced=False, type=dict
)
AT_ONCE = Settings(keep_younger_than=timedelta(0), keep_tag_revisions=1)


def definition(resource: Resource[Any], *, status: bool) -> dict[str, Any]:
    version: dict[str, Any] = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {
            "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        },
    }
    if status:
        version["subresources"] = {"status": {}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "names": {
                "plural": resource.plural,
                "singular": resource.kind.lower(),
                "kind": resource.kind,
            },
            "versions": [version],
        },
    }


class OpenShiftNames:
    """An Image is called `sha256:...`, which no custom resource may be: a dash stands for it."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __call__(self, request: HttpRequest) -> Response:
        if f"{GROUP}/v1/images" not in request.path or "imagestreams" in request.path:
            answer: Response = await self._inner(request)
            return answer
        path = request.path.replace("sha256%3A", "sha256-").replace("sha256:", "sha256-")
        body = request.body.replace(b'"name":"sha256:', b'"name":"sha256-')
        answer = await self._inner(replace(request, path=path, body=body))
        if isinstance(answer.body, bytes):
            named = answer.body.replace(b'"name":"sha256-', b'"name":"sha256:')
            answer = replace(answer, body=named)
        return answer


@dataclass
class RecordingRegistry:
    """The registry of OpenShift, as far as its deletions go."""

    deleted: list[str] = field(default_factory=list)
    failing: set[str] = field(default_factory=set)

    async def _gone(self, what: str, one: Digest | None) -> bool:
        text = f"{what} {name_of(str(one))}"
        if text in self.failing:
            raise registries.Unavailable(f"{text}: 503", status=503)
        self.deleted.append(text)
        return True

    async def delete(self, reference: Reference) -> bool:
        return await self._gone(f"manifestLink {reference.repository}", reference.digest)

    async def delete_blob(self, repository: Reference, digest: Digest) -> bool:
        return await self._gone(f"layerLink {repository.repository}", digest)

    async def delete_blob_everywhere(self, registry: str, digest: Digest) -> bool:
        return await self._gone("blob", digest)


@dataclass
class Streams:
    kube: KubeClient
    api: OpenShiftNames
    registry: RecordingRegistry = field(default_factory=RecordingRegistry)
    settings: Settings = AT_ONCE
    conflicts: int = 0

    async def stream(self, name: str, *items: str) -> None:
        body = {
            "apiVersion": f"{GROUP}/v1",
            "kind": "ImageStream",
            "metadata": {"name": name, "namespace": "images"},
        }
        made = await self.kube.create(STREAMS, body, namespace="images")
        await self.set_items(made, *items)

    async def set_items(self, stream: dict[str, Any], *items: str) -> None:
        entries = [
            {"image": digest(item), "created": f"2026-01-01T00:00:{59 - number:02d}Z"}
            for number, item in enumerate(items)
        ]
        status = {"tags": [{"tag": "latest", "items": entries}]}
        await KubeCluster(self.kube, address="").replace_status(
            STREAMS, {**stream, "status": status}
        )

    async def image(self, name: str, layers: str = "") -> None:
        body = {
            "apiVersion": f"{GROUP}/v1",
            "kind": "Image",
            "metadata": {"name": digest(name)},
            "dockerImageLayers": [{"name": digest(one), "size": 10} for one in layers.split()],
        }
        await self.kube.create(IMAGES, body)

    def pruner(self) -> Pruner:
        return Pruner(
            PruneRequest(
                source=Source.IMAGE_STREAMS,
                registry=REGISTRY,
                registry_names=(REGISTRY,),
                mirrors=(),
                reading=Reading(settings=self.settings, custom=()),
                policy=policy.NO_POLICY,
                limits=Limits(ignored=frozenset(["no-references"])),  # type: ignore[list-item]
            ),
            clusters=[KubeCluster(self.kube, address="test")],
            files=(),
            registry=self.registry,  # type: ignore[arg-type]
            trash=None,
            ledger_file=None,
            known=KnownManifests(),
            clock=SystemClock(),
        )

    async def apply(self) -> tuple[PruneOutcome, ...]:
        return (await self.pruner().apply()).outcomes

    async def items(self, name: str) -> list[str]:
        stream = await self.kube.get(STREAMS, name, namespace="images")
        tags = stream["status"].get("tags") or []
        return [name_of(item["image"]) for tag in tags for item in tag["items"]]

    async def images(self) -> set[str]:
        page = await self.kube.page(IMAGES)
        return {name_of(one["metadata"]["name"]) for one in page.items}


@pytest.fixture
async def streams() -> AsyncIterator[Streams]:
    async with kube_server.serving(SystemClock()) as api:
        named = OpenShiftNames(api)
        client = KubeClient(named)
        await client.create(CRDS, definition(STREAMS, status=True))
        await client.create(CRDS, definition(IMAGES, status=False))
        made = Streams(client, named)
        await made.stream("bar", "new", "old")
        await made.image("new", "shared")
        await made.image("old", "shared own")
        yield made


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
