"""A cluster with ImageStreams and Images, and the registry that belongs to it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.cluster import KubeCluster
from lading.kernel.digests import Digest
from lading.kernel.objects import Resource
from lading.kernel.references import Reference
from lading.kernel.values import replace
from lading.ports import registry as registries
from lading.ports.http import Request as HttpRequest
from lading.ports.http import Response
from lading.pruning.engine.controller import Pruner
from lading.pruning.engine.decisions import policy
from lading.pruning.engine.decisions.guards import Limits
from lading.pruning.engine.effects.outcomes import PruneOutcome
from lading.pruning.engine.inventory.manifest_table import ManifestTable
from lading.pruning.engine.prune_request import PruneRequest
from lading.pruning.engine.references.observe import Reading
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
        "metadata": {"name": f"{resource.plural}.{resource.group}"},
        "spec": {
            "group": resource.group,
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
            known=ManifestTable(),
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


@asynccontextmanager
async def empty() -> AsyncIterator[Streams]:
    async with kube_server.serving(SystemClock()) as api:
        named = OpenShiftNames(api)
        client = KubeClient(named)
        await client.create(CRDS, definition(STREAMS, status=True))
        await client.create(CRDS, definition(IMAGES, status=False))
        yield Streams(client, named)


@asynccontextmanager
async def opened() -> AsyncIterator[Streams]:
    """With a stream of two images that share a layer."""
    async with empty() as made:
        await made.stream("bar", "new", "old")
        await made.image("new", "shared")
        await made.image("old", "shared own")
        yield made
