"""Clients that push, mount, delete, push again and re-tag while a registry is swept.

Each owns its images and shares layers with the others. A push counts when its manifest was
answered with 201; one that is refused is repeated, as a client of a registry does.
"""

import asyncio
import json
import random
from dataclasses import dataclass, field

from lading.kernel import manifests
from lading.kernel.digests import Digest
from lading.ports import registry as registries
from lading.ports.registry import Manifest, RegistryError
from tests.pruning.worlds import Shelf

REPEATS_MAX = 30
SHARED_LAYERS = 12
REPOSITORIES = ("team/a", "team/b", "c")


@dataclass
class Pusher:
    shelf: Shelf
    number: int
    held: dict[tuple[str, tuple[bytes, ...]], Manifest] = field(default_factory=dict)
    """Repository and layers of each image that must be there."""
    deleted: list[tuple[str, tuple[bytes, ...]]] = field(default_factory=list)
    pushes: int = 0
    refused: int = 0
    broken: list[str] = field(default_factory=list)

    async def run(self, stop: asyncio.Event) -> None:
        draw = random.Random(self.number)
        count = 0
        while not stop.is_set():
            count += 1
            action = draw.random()
            if action < 0.45 or not self.held:
                own = f"layer {self.number}.{count}".encode() * 50
                shared = f"shared {draw.randrange(SHARED_LAYERS)}".encode() * 50
                layers: tuple[bytes, ...] = (own, shared)
                await self.push(draw.choice(REPOSITORIES), layers, tag=f"t{self.number}-{count}")
            elif action < 0.7:
                await self._delete(draw)
            elif action < 0.9 and self.deleted:
                name, layers = self.deleted.pop(draw.randrange(len(self.deleted)))
                await self.push(name, layers, tag=f"again{self.number}-{count}")
            else:
                await self._tag_again(draw, f"moved{self.number}-{draw.randrange(5)}")
            await asyncio.sleep(draw.random() * 0.1)

    async def push(self, name: str, layers: tuple[bytes, ...], *, tag: str) -> None:
        config = json.dumps({"layers": [str(Digest.of(one)) for one in layers]}).encode()
        document = {
            "schemaVersion": 2,
            "mediaType": manifests.OCI_MANIFEST,
            "config": Shelf.entry(Digest.of(config), len(config), manifests.OCI_CONFIG),
            "layers": [
                Shelf.entry(Digest.of(one), len(one), manifests.OCI_LAYER_GZIP) for one in layers
            ],
        }
        content = json.dumps(document).encode()
        manifest = Manifest(
            media_type=manifests.OCI_MANIFEST, digest=Digest.of(content), content=content
        )
        for _ in range(REPEATS_MAX):
            try:
                for one in (config, *layers):
                    await self._upload(name, one)
                await self.shelf.admin.push_manifest(self.shelf.at(f"{name}:{tag}"), manifest)
            except (registries.MalformedAnswer, registries.NotFound):
                self.refused += 1
                continue
            self.pushes += 1
            self.held[name, layers] = manifest
            return
        self.broken.append(f"{name}:{tag} was refused {REPEATS_MAX} times")

    async def _upload(self, name: str, content: bytes) -> None:
        """Not what the repository has; mounted from another one where that has it."""
        place, digest = self.shelf.at(name), Digest.of(content)
        if await self.shelf.admin.has_blob(place, digest):
            return
        for other in REPOSITORIES:
            source = self.shelf.at(other)
            is_there = other != name and await self.shelf.admin.has_blob(source, digest)
            if is_there and await self.shelf.admin.mount_blob(place, digest, source=source):
                return
        await self.shelf.admin.push_blob(place, content)

    async def _delete(self, draw: random.Random) -> None:
        name, layers = draw.choice(list(self.held))
        manifest = self.held.pop((name, layers))
        await self.shelf.admin.delete(self.shelf.at(f"{name}@{manifest.digest}"))
        self.deleted.append((name, layers))

    async def _tag_again(self, draw: random.Random, tag: str) -> None:
        """As a client: without what the registry has, so that it may be refused."""
        name, layers = draw.choice(list(self.held))
        await self.push(name, layers, tag=tag)

    async def lost(self) -> list[str]:
        """The images that cannot be pulled whole."""
        found = list(self.broken)
        for (name, _), manifest in self.held.items():
            image = f"{name}@{manifest.digest}"
            try:
                is_whole = await self.shelf.pullable(image)
            except RegistryError as error:
                found.append(f"{image}: {error}")
            else:
                found += [] if is_whole else [f"{image} is gone"]
        return found
