"""A registry in memory that counts what it is asked for, and a policy for its repositories."""

import json
from dataclasses import dataclass, field
from typing import Any

from lading.kernel.digests import Digest
from lading.kernel.manifests import Descriptor
from lading.kernel.references import Reference
from lading.ports.registry import Manifest
from lading.pruning.engine.decisions import policy
from tests.pruning.builders import REGISTRY
from tests.pruning.memory_registry import MemoryRegistry


def keeping(repositories: int) -> policy.Policy:
    """Of the first repositories, `r000` and on, only tags that begin with `keep` stay."""
    globs = [f"r{number:03}" for number in range(repositories)]
    entry = {"repositories": globs, "keepTags": [{"patterns": ["keep.*"]}]}
    return policy.parse({"policies": [entry] if globs else []})


@dataclass
class Counted(MemoryRegistry):
    """Counts what it is asked for."""

    manifests_read: list[str] = field(default_factory=list)
    referrers_read: list[str] = field(default_factory=list)

    async def manifest(self, reference: Reference) -> Manifest:
        found = await super().manifest(reference)
        self.manifests_read.append(str(found.digest))
        return found

    async def referrers(self, reference: Reference) -> tuple[Descriptor, ...] | None:
        self.referrers_read.append(str(reference.digest))
        return await super().referrers(reference)

    def count_anew(self) -> None:
        self.calls = 0
        self.manifests_read.clear()
        self.referrers_read.clear()

    async def push(self, repository: str, tags: tuple[str, ...], **document: Any) -> Manifest:
        content = json.dumps({"layers": [], **document}).encode()
        manifest = Manifest(media_type="", digest=Digest.of(content), content=content)
        place = Reference(registry=REGISTRY, repository=repository)
        await self.push_manifest(place.at(manifest.digest), manifest)
        for tag in tags:
            place = Reference(registry=REGISTRY, repository=repository, tag=tag)
            await self.push_manifest(place, manifest)
        return manifest

    @property
    def digests(self) -> int:
        return len({one for place in self.repositories.values() for one in place.manifests})


def entry(manifest: Manifest) -> dict[str, object]:
    return {"digest": str(manifest.digest)}
