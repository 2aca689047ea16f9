"""The pruner at a million manifests: the graph alone, and a whole plan, in a process of its own.

Limits: the graph is built in 5 s, marked in 0.5 s and holds 300 MB; a plan takes 60 s and 1 GB.
Seconds are of CPU time, since other work on the machine is not ours.
"""

import asyncio
import json
import resource
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import msgspec
import numpy as np

from lading.kernel.digests import Digest
from lading.kernel.manifests import OCI_MANIFEST, Descriptor
from lading.kernel.references import Reference
from lading.ports.registry import Manifest
from lading.pruning.engine import ledger
from lading.pruning.engine.decisions import policy
from lading.pruning.engine.inventory import observe_registry
from lading.pruning.engine.inventory.manifest_table import ManifestTable
from lading.pruning.engine.inventory.observe_registry import Scope
from lading.pruning.engine.ledger import Ledger
from lading.pruning.engine.types import References, Settings
from tests.pruning import paging_server
from tests.pruning.paging_server import ManyImages

MANIFESTS = 1_000_000
LAYERS = 10
EDGES = LAYERS * MANIFESTS
BLOBS = 1_000_000
REPOSITORIES = 10_000
BUILD_SECONDS_MAX, MARK_SECONDS_MAX, GRAPH_BYTES_MAX = 5.0, 0.5, 300e6
PLAN_SECONDS_MAX, PLAN_BYTES_MAX = 60.0, 1e9
IMAGES = 200_000
IMAGES_BYTES_MAX = 400e6


def run() -> dict[str, float]:
    graph, whole, images = _measured("graph"), _measured("plan"), _images()
    return {
        "graph_build_s": graph["build_s"],
        "graph_build_share_of_limit": graph["build_s"] / BUILD_SECONDS_MAX,
        "graph_mark_s": graph["mark_s"],
        "graph_mark_share_of_limit": graph["mark_s"] / MARK_SECONDS_MAX,
        "graph_memory_mb": graph["bytes"] / 1e6,
        "graph_memory_share_of_limit": graph["bytes"] / GRAPH_BYTES_MAX,
        "plan_s": whole["plan_s"],
        "plan_share_of_limit": whole["plan_s"] / PLAN_SECONDS_MAX,
        "plan_observe_s": whole["observe_s"],
        "plan_memory_mb": whole["bytes"] / 1e6,
        "plan_inventory_mb": whole["inventory_bytes"] / 1e6,
        "plan_memory_share_of_limit": whole["bytes"] / PLAN_BYTES_MAX,
        "images_200k_memory_mb": images["bytes"] / 1e6,
        "images_200k_memory_share_of_limit": images["bytes"] / IMAGES_BYTES_MAX,
    }


def _images() -> dict[str, float]:
    """Images of a cluster over HTTP; the list expires twice, as with etcd's compaction."""
    images = ManyImages(count=IMAGES, expire_at=[IMAGES // 3, IMAGES // 2])

    async def read() -> dict[str, int]:
        async with paging_server.serving(images) as url:
            return await paging_server.read_in_a_process(url)

    found = asyncio.run(read())
    assert found["images"] == IMAGES
    return {"bytes": float(found["most"])}


def _measured(what: str) -> dict[str, float]:
    """In a process of its own, since memory that was once used is not given back."""
    answer = subprocess.run(
        [sys.executable, "-m", "bench.prune", what], check=True, capture_output=True
    )
    found: dict[str, float] = json.loads(answer.stdout)
    return found


def _peak_bytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def _graph() -> dict[str, float]:
    from lading.pruning.engine.inventory import graph

    draw = np.random.default_rng(1)
    keys = draw.integers(1, 2**63, MANIFESTS + BLOBS, dtype=np.uint64)
    checks = draw.integers(1, 2**63, MANIFESTS + BLOBS, dtype=np.uint64)
    targets = draw.integers(MANIFESTS, MANIFESTS + BLOBS, EDGES, dtype=np.int32)
    columns = (
        [keys[:MANIFESTS].copy(), keys[targets]],
        [checks[:MANIFESTS].copy(), checks[targets]],
    )
    del keys, checks, targets
    before, start = _peak_bytes(), time.process_time()
    table, nodes = graph.numbered(*columns)
    sources = np.repeat(nodes[0], EDGES // MANIFESTS)
    built = graph.from_pairs(sources, nodes[1], node_count=len(table.keys))
    build_seconds = time.process_time() - start
    roots = nodes[0][::2]
    start = time.process_time()
    built.reachable(roots.tolist())
    mark_seconds = time.process_time() - start
    held = built.starts.nbytes + built.targets.nbytes + table.keys.nbytes + table.checks.nbytes
    grown = _peak_bytes() - before
    return {"build_s": build_seconds, "mark_s": mark_seconds, "bytes": max(grown, held)}


class _Registry:
    """As much of a registry as is read: its documents are made when they are asked for."""

    def __init__(self) -> None:
        self.each = MANIFESTS // REPOSITORIES

    async def catalogue(self, _registry: str) -> tuple[str, ...]:
        return tuple(f"team-{number}/app" for number in range(REPOSITORIES))

    async def tags(self, _repository: Reference) -> tuple[str, ...]:
        return tuple(f"v{position}" for position in range(self.each))

    async def head(self, reference: Reference) -> Descriptor:
        assert reference.tag is not None
        found = self.manifest_at(reference.repository, int(reference.tag[1:]))
        size_bytes = len(found.content)
        return Descriptor(media_type="", digest=found.digest, size_bytes=size_bytes)

    async def tagged_manifest(self, reference: Reference) -> Manifest:
        assert reference.tag is not None
        return self.manifest_at(reference.repository, int(reference.tag[1:]))

    async def referrers(self, _reference: Reference) -> None:
        return None

    @lru_cache(maxsize=1000)  # noqa: B019 - there is one registry
    def manifest_at(self, repository: str, position: int) -> Manifest:
        first = (int(repository[len("team-") : -len("/app")]) * self.each + position) * LAYERS
        layers = ",".join(map(_layer, range(first, first + LAYERS)))
        content = f'{{"mediaType":"{OCI_MANIFEST}","layers":[{layers}]}}'.encode()
        return Manifest(media_type="", digest=Digest.of(content), content=content)


def _layer(edge: int) -> str:
    """Each blob is in about ten manifests; a prime walks through all of them."""
    blob = (edge * 7_919 + edge // BLOBS) % BLOBS
    return f'{{"digest":"{Digest.of(str(blob).encode())}","size":{1_000_000 + blob}}}'


def _remembered(registry: _Registry, now: datetime) -> Ledger:
    """As the file of another run has it: since when each tag names its digest."""
    seen = {}
    for number in range(REPOSITORIES):
        name = f"team-{number}/app"
        own = {
            f"v{position}": (
                str(registry.manifest_at(name, position).digest),
                now - timedelta(days=position + 1),
            )
            for position in range(registry.each)
        }
        seen[name] = msgspec.Raw(msgspec.json.encode(own))
    return ledger.decode(ledger.encode(Ledger(first_seen=seen)))


async def _whole_plan() -> dict[str, float]:
    """The inventory is read by the code of a real run, from a registry and a file of ages."""
    from lading.pruning.engine.decisions import plan

    now = datetime(2026, 1, 1, tzinfo=UTC)
    registry = _Registry()
    remembered = _remembered(registry, now)
    start = time.process_time()
    inventory = await observe_registry.inventory(
        registry,  # type: ignore[arg-type]
        Scope(registry="registry"),
        known=ManifestTable(),
        remembered=remembered,
    )
    observe_seconds = time.process_time() - start
    del remembered
    used = References(
        tags={("team-1/app", "v1"): ("Pod a/b",)},
        digests={next(iter(inventory.manifests)): ("Pod a/b",)},
        of_this_registry=2,
    )
    entry = {"repositories": ["**"], "keepTags": [{"newest": registry.each // 2}]}
    half = policy.parse({"policies": [entry]})
    inventory_bytes = _peak_bytes()
    start = time.process_time()
    found = plan.plan(inventory, used, Settings(), now, policy=half)
    seconds = time.process_time() - start
    assert len(inventory.manifests) == MANIFESTS
    assert len(found.deletions) > MANIFESTS * 9 // 10, "half of the tags and manifests go"
    return {
        "plan_s": seconds,
        "observe_s": observe_seconds,
        "bytes": _peak_bytes(),
        "inventory_bytes": inventory_bytes,
    }


def _plan() -> dict[str, float]:
    return asyncio.run(_whole_plan())


if __name__ == "__main__":
    print(json.dumps({"graph": _graph, "plan": _plan, "images": _images}[sys.argv[1]]()))
