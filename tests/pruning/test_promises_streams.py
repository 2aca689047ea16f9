"""The promises for ImageStreams on random worlds: failing calls, crashes, pushes meanwhile.

What a stream names is whole at every moment, what is used or may be used stays, and with a trash
each image is whole in its stream or in the trash. A world is drawn from its seed alone.
"""

import asyncio
import contextlib
import json
import random
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from lading.adapters.clock import SystemClock
from lading.kernel.digests import Digest
from lading.kernel.references import Reference
from lading.ports import kube
from lading.ports import registry as registries
from lading.ports.kube import EventType, Page, Untyped, WatchEvent
from lading.ports.registry import Manifest
from lading.pruning.engine.controller import Pruner
from lading.pruning.engine.decisions import policy
from lading.pruning.engine.decisions.guards import Guard, Limits
from lading.pruning.engine.inventory.manifest_table import ManifestTable
from lading.pruning.engine.prune_request import PruneRequest
from lading.pruning.engine.references.observe import Reading
from lading.pruning.engine.trash.trash import Trash, TrashSettings
from lading.pruning.engine.types import Settings, Source
from tests.pruning.builders import NOW, REGISTRY, pod, stamp
from tests.pruning.fake_clusters import PODS
from tests.pruning.image_streams import IMAGES, STREAMS
from tests.pruning.memory_registry import Crash, MemoryRegistry

SEEDS = st.integers(0, 2**32 - 1)
WORLDS = settings().max_examples * 3 // 10
MANY_WORLDS = 3 * WORLDS
"""Where one run is enough, and few worlds have the fault."""
TRASH = TrashSettings(registry=REGISTRY)
NAMES = ("ns/app", "ns/web", "other/app")
TAGS = ("latest", "1", "2")


def nothing(_number: int, _method: str) -> None:
    pass


@dataclass
class OpenShiftRegistry(MemoryRegistry):
    """Its data can go while the links stay, and its calls let others run."""

    gone: set[str] = field(default_factory=set)

    async def manifest(self, reference: Reference) -> Manifest:
        found = await super().manifest(reference)
        if str(found.digest) in self.gone:
            raise registries.NotFound(f"{reference}: 404", status=404)
        return found

    async def mount_blob(self, target: Reference, digest: Digest, *, source: Reference) -> bool:
        return str(digest) not in self.gone and await super().mount_blob(
            target, digest, source=source
        )

    async def delete_blob(self, repository: Reference, digest: Digest) -> bool:
        number = self.begin("DELETE")
        self.repositories[repository.repository].blobs.discard(str(digest))
        self.end(number, "DELETE")
        return True

    async def delete_blob_everywhere(self, registry: str, digest: Digest) -> bool:
        number = self.begin("DELETE")
        self.gone.add(str(digest))
        self.end(number, "DELETE")
        return True

    def is_whole(self, repository: str, digest: str) -> bool:
        place = self.repositories.get(repository)
        if place is None or not super().is_whole(repository, digest):
            return False
        return self.gone.isdisjoint(needed(place.manifests[digest])) and digest not in self.gone


def needed(manifest: Manifest) -> list[str]:
    document = json.loads(manifest.content)
    entries = (*document.get("layers", ()), *document.get("manifests", ()))
    return [one["digest"] for one in entries]


async def seen_by_the_watch() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


@dataclass
class OpenShift:
    """A cluster with ImageStreams, Images and pods; its calls and the registry's count as one."""

    registry: OpenShiftRegistry
    streams: dict[str, dict[str, Any]] = field(default_factory=dict)
    images: dict[str, dict[str, Any]] = field(default_factory=dict)
    pods: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    """The streams that changed, in order."""

    async def identity(self) -> str:
        return "uid"

    async def server_time(self) -> datetime:
        return NOW

    async def kinds(self) -> tuple[Untyped, ...]:
        return (PODS, STREAMS, IMAGES)

    async def page(
        self, resource: Untyped, *, limit: int, continue_token: str = ""
    ) -> Page[dict[str, Any]]:
        number = self.registry.begin("LIST")
        every = {PODS: self.pods, STREAMS: self.streams.values(), IMAGES: self.images.values()}
        items = tuple(json.loads(json.dumps(one)) for one in every[resource])
        found = Page(items=items, resource_version=str(len(self.events)), continue_token="")
        self.registry.end(number, "LIST")
        await seen_by_the_watch()
        return found

    async def watch(
        self, resource: Untyped, *, resource_version: str, timeout_seconds: int
    ) -> AsyncIterator[WatchEvent[dict[str, Any]]]:
        seen = int(resource_version)
        while True:
            for stream in self.events[seen:] if resource is STREAMS else ():
                seen += 1
                yield WatchEvent(type=EventType.MODIFIED, object=stream, resource_version=str(seen))
            await asyncio.sleep(0)

    async def check_watch(self, resource: Untyped, *, resource_version: str) -> None:
        pass

    async def get(self, resource: Untyped, name: str, *, namespace: str = "") -> dict[str, Any]:
        self.registry.begin("GET")
        place = self.streams if resource is STREAMS else self.images
        key = f"{namespace}/{name}" if namespace else name
        if key not in place:
            raise kube.NotFound(f"{key}: 404")
        found: dict[str, Any] = json.loads(json.dumps(place[key]))
        return found

    async def replace_status(self, resource: Untyped, body: Mapping[str, Any]) -> None:
        number = self.registry.begin("PUT")
        name = f"{body['metadata']['namespace']}/{body['metadata']['name']}"
        version = self.streams[name]["metadata"]["resourceVersion"]
        if body["metadata"]["resourceVersion"] != version:
            raise kube.Conflict(f"{name}: 409")
        self.change(name, body["status"]["tags"])
        self.registry.end(number, "PUT")

    async def delete(self, resource: Untyped, name: str) -> None:
        number = self.registry.begin("DELETE")
        self.images.pop(name, None)
        self.registry.end(number, "DELETE OBJECT")
        await seen_by_the_watch()

    def change(self, name: str, tags: list[dict[str, Any]]) -> None:
        stream = json.loads(json.dumps(self.streams[name]))
        stream["status"] = {"tags": tags}
        stream["metadata"]["resourceVersion"] = str(len(self.events) + 1)
        self.streams[name] = stream
        self.events.append(stream)

    def items(self) -> Iterator[tuple[str, str, str]]:
        """(stream, tag, digest) of everything that the streams name."""
        for name, stream in self.streams.items():
            for tag in stream["status"]["tags"]:
                for item in tag["items"]:
                    yield name, tag["tag"], item["image"]


class StreamWorld:
    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.registry = OpenShiftRegistry()
        self.cluster = OpenShift(self.registry)
        self.made: dict[str, Manifest] = {}
        self.configs: dict[str, str] = {}
        self.has_trash = self.draw.random() < 0.5
        self.settings = Settings(
            keep_younger_than=timedelta(0), keep_tag_revisions=self.draw.randint(0, 2)
        )
        for number in range(self.draw.randint(2, 7)):
            self._make(number)
        for name in self.draw.sample(NAMES, self.draw.randint(1, 3)):
            self._fill(name)
        self.before = [*self.cluster.items()]
        self.current = {
            (name, tag["tag"]): tag["items"][0]["image"]
            for name, stream in self.cluster.streams.items()
            for tag in stream["status"]["tags"]
        }
        self.texts: list[str] = []
        for name, tag, digest in self.before:
            self._use(name, tag, digest)

    def _make(self, number: int) -> None:
        draw, earlier = self.draw, [*self.made]
        document: dict[str, Any] = {"annotations": {"n": str(number)}}
        image: dict[str, Any] = {}
        if earlier and draw.random() < 0.35:
            children = draw.sample(earlier, draw.randint(1, len(earlier)))
            document["manifests"] = [{"digest": one} for one in children]
            image["dockerImageManifests"] = document["manifests"]
        else:
            layers = {f"layer {draw.randint(0, 4)}" for _ in range(draw.randint(0, 3))}
            config = f"config {draw.randint(0, 5)}"
            named = {one: str(Digest.of(one.encode())) for one in (*sorted(layers), config)}
            document["layers"] = [{"digest": one} for one in named.values()]
            image["dockerImageLayers"] = [
                {"name": named[one], "size": 1} for one in named if one != config
            ]
            image["dockerImageMetadata"] = {"Id": named[config]}
        content = json.dumps(document).encode()
        manifest = Manifest(media_type="", digest=Digest.of(content), content=content)
        digest = str(manifest.digest)
        self.made[digest] = manifest
        self.configs[digest] = image.get("dockerImageMetadata", {}).get("Id", "")
        metadata = {"name": digest, "creationTimestamp": stamp(600)}
        self.cluster.images[digest] = {"metadata": metadata, **image}
        self.documents = dict(self.cluster.images)

    def _fill(self, name: str) -> None:
        namespace, _, own = name.partition("/")
        tags = self.draw.sample(TAGS, self.draw.randint(1, 3))
        if self.draw.random() < 0.3:
            subject = self.draw.choice([*self.made])
            tags.append(f"{subject.replace(':', '-')}.sig")
        metadata = {"namespace": namespace, "name": own, "resourceVersion": "0"}
        created = {"creationTimestamp": stamp(600)}
        self.cluster.streams[name] = {"metadata": {**metadata, **created}, "status": {"tags": []}}
        entries = []
        for tag in tags:
            images = self.draw.choices([*self.made], k=self.draw.randint(1, 4))
            items = [{"image": one, "created": stamp(300 + n)} for n, one in enumerate(images)]
            entries.append({"tag": tag, "items": items})
            for image in images:
                self._upload(name, image)
        self.cluster.change(name, entries)

    def _upload(self, name: str, digest: str) -> None:
        """As a push does: data, links and Images that are not there are made."""
        place = self.registry._at(Reference(registry=REGISTRY, repository=name))
        place.manifests[digest] = self.made[digest]
        self.cluster.images.setdefault(digest, self.documents[digest])
        self.registry.gone.discard(digest)
        for one in needed(self.made[digest]):
            if one in self.made:
                self._upload(name, one)
            else:
                place.blobs.add(one)
                self.registry.gone.discard(one)

    def push_old_image(self) -> None:
        """A rollback: an image of the beginning becomes the newest item of a tag."""
        name = self.draw.choice([*self.cluster.streams])
        digest = self.draw.choice([*self.made])
        self._upload(name, digest)
        tags = json.loads(json.dumps(self.cluster.streams[name]["status"]["tags"]))
        item = {"image": digest, "created": stamp(1)}
        found = [tag for tag in tags if tag["tag"] == "pushed"]
        if found:
            found[0]["items"].insert(0, item)
        else:
            tags.append({"tag": "pushed", "items": [item]})
        self.cluster.change(name, tags)

    def _use(self, name: str, tag: str, digest: str) -> None:
        if self.draw.random() > 0.15:
            return
        text = self.draw.choice(
            [
                f"{REGISTRY}/{name}:{tag}",
                f"mirror.test/{name}:{tag}",
                f"{REGISTRY}/{name}@{digest}",
                f"other.test/x/y@{digest}",
                f"{REGISTRY}/{name}:$TAG",
                self.configs[digest],
            ]
        )
        if text.startswith("sha256:"):
            self.cluster.pods.append(pod("elsewhere.test/x:1", image_id=text))
        elif text:
            self.cluster.pods.append(pod(text))
        self.texts.append(text)

    async def apply(self) -> None:
        pruner = Pruner(
            PruneRequest(
                source=Source.IMAGE_STREAMS,
                registry=REGISTRY,
                registry_names=(REGISTRY,),
                mirrors=(),
                reading=Reading(settings=self.settings, custom=()),
                policy=policy.NO_POLICY,
                limits=Limits(ignored=frozenset(Guard)),
            ),
            clusters=[self.cluster],
            files=(),
            registry=self.registry,
            trash=Trash(self.registry, TRASH) if self.has_trash else None,
            ledger_file=None,
            known=ManifestTable(),
            clock=SystemClock(),
        )
        await pruner.apply()

    def data_is_there(self, digest: str) -> bool:
        rest = needed(self.made[digest])
        return (
            digest in self.cluster.images
            and digest not in self.registry.gone
            and all(self.data_is_there(one) for one in rest if one in self.made)
            and self.registry.gone.isdisjoint(rest)
        )

    async def check(self) -> None:
        now = [*self.cluster.items()]
        for name, tag, digest in now:
            place = f"{name}:{tag} names {digest[:15]}"
            assert self.registry.is_whole(name, digest), f"{place}, and it cannot be pulled"
            assert self.data_is_there(digest), f"{place}, and an Image or its data is gone"
        for text in self.texts:
            self._check_used(text, now)
        if self.has_trash:
            await self._check_somewhere()

    def _check_used(self, text: str, now: list[tuple[str, str, str]]) -> None:
        """Worked out without the code under test."""
        for digest, config in self.configs.items():
            if text and text == config:
                assert self.data_is_there(digest), f"what runs by its configuration {text} is gone"
        for name, tag, digest in self.before:
            is_named = (name, tag, digest) in now
            if text.endswith(f"/{name}:{tag}") and self.current[name, tag] == digest:
                assert is_named, f"the used tag {name}:{tag} lost its image"
            if text.endswith(f"@{digest}"):
                assert self.data_is_there(digest), f"the used {digest} is gone"
            if text == f"{REGISTRY}/{name}@{digest}":
                assert any((one[0], one[2]) == (name, digest) for one in now), f"{text} is gone"
            if text == f"{REGISTRY}/{name}:$TAG":
                assert is_named, f"an unreadable text may mean {name}:{tag}"

    async def _check_somewhere(self) -> None:
        records = await Trash(self.registry, TRASH).records([TRASH.repository])
        for name, tag, digest in self.before:
            in_trash = any(
                record.repository == name
                and record.uses(digest)
                and self.registry.is_whole(TRASH.repository, digest)
                for _, record in records
            )
            in_place = self.registry.is_whole(name, digest)
            assert in_place or in_trash, f"{name}:{tag} is neither whole here nor in the trash"


@settings(max_examples=WORLDS)
@given(seed=SEEDS)
async def test_what_streams_name_is_whole_and_what_is_used_stays(seed: int) -> None:
    world = StreamWorld(seed)
    await world.apply()
    await world.check()
    await world.apply()
    await world.check()


@settings(max_examples=WORLDS)
@given(seed=SEEDS)
async def test_1_10_a_b_after_a_crash_at_any_call_and_another_run_nothing_is_lost(
    seed: int,
) -> None:
    world = StreamWorld(seed)
    await world.apply()
    total = world.registry.calls
    draw = random.Random(seed)
    for _ in range(3):
        world = StreamWorld(seed)
        strike = _at(draw.randint(1, total), Crash())
        is_after = draw.random() < 0.5
        world.registry.before_call = nothing if is_after else strike
        world.registry.after_call = strike if is_after else nothing
        with contextlib.suppress(Crash):
            await world.apply()
        world.registry.before_call = world.registry.after_call = nothing
        await world.check()
        await world.apply()
        await world.check()


@settings(max_examples=WORLDS)
@given(seed=SEEDS)
async def test_1_10_a_b_when_calls_fail_nothing_is_lost(seed: int) -> None:
    world = StreamWorld(seed)
    observed = 3 + len(world.cluster.streams)

    def fail(number: int, method: str) -> None:
        if number > observed and number % 5 == seed % 5:
            if method == "PUT" and seed % 3 == 0:
                raise kube.Conflict("409")
            raise (kube.Unavailable if seed % 2 else registries.Unavailable)("503")

    if seed % 4 < 2:
        world.registry.before_call = fail
    else:
        world.registry.after_call = fail
    with contextlib.suppress(registries.RegistryError, kube.KubeError):
        await world.apply()
    world.registry.before_call = world.registry.after_call = nothing
    await world.check()


@settings(max_examples=MANY_WORLDS)
@given(seed=SEEDS)
async def test_1_10_h_old_images_that_are_pushed_meanwhile_stay(seed: int) -> None:
    """While references and streams are read, and whenever an image is gone."""
    world = StreamWorld(seed)
    draw = random.Random(seed)

    def push(_number: int, method: str) -> None:
        if method in ("LIST", "DELETE OBJECT") and draw.random() < 0.3:
            world.push_old_image()

    world.registry.before_call = world.registry.after_call = push
    await world.apply()
    world.registry.before_call = world.registry.after_call = nothing
    await world.check()


def _at(number: int, error: BaseException) -> Callable[[int, str], None]:
    def strike(call: int, _method: str) -> None:
        if call == number:
            raise error

    return strike
