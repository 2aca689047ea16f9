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

import numpy as np

from tests.pruning import paging_server
from tests.pruning.paging_server import ManyImages

MANIFESTS = 1_000_000
EDGES = 10_000_000
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
    from lading.pruning.engine import graph

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


def _plan() -> dict[str, float]:
    from datetime import UTC, datetime, timedelta

    from lading.pruning.engine import plan, policy
    from lading.pruning.engine.types import (
        Inventory,
        InventoryManifest,
        References,
        Repository,
        Revision,
        Settings,
        Source,
        Tag,
    )

    now = datetime(2026, 1, 1, tzinfo=UTC)
    layers = EDGES // MANIFESTS
    draw = np.random.default_rng(1)
    blobs = [f"sha256:{one.tobytes().hex()}" for one in
             np.frombuffer(draw.bytes(32 * BLOBS), dtype="V32")]  # fmt: skip
    digests = [f"sha256:{one.tobytes().hex()}" for one in
               np.frombuffer(draw.bytes(32 * MANIFESTS), dtype="V32")]  # fmt: skip
    manifests: dict[str, InventoryManifest] = {}
    repositories: dict[str, Repository] = {}
    each = MANIFESTS // REPOSITORIES
    for number in range(REPOSITORIES):
        own = digests[number * each : (number + 1) * each]
        for digest in own:
            chosen = draw.integers(0, BLOBS, layers)
            manifests[digest] = InventoryManifest(
                digest=digest, blobs=tuple(blobs[one] for one in chosen), size_bytes=1000
            )
        name = f"team-{number}/app"
        tags = tuple(
            Tag.of(f"v{position}", [Revision(digest, now - timedelta(days=position + 1))])
            for position, digest in enumerate(own)
        )
        repositories[name] = Repository(name=name, tags=tags, manifests=tuple(own))
    inventory = Inventory(
        source=Source.REGISTRY,
        registry="registry",
        repositories=repositories,
        manifests=manifests,
        blob_sizes=dict.fromkeys(blobs, 1_000_000),
    )
    half = policy.parse(
        {"policies": [{"repositories": ["**"], "keepTags": [{"newest": each // 2}]}]}
    )
    used = References(
        tags={("team-1/app", "v1"): ("Pod a/b",)},
        digests={digests[-1]: ("Pod a/b",)},
        of_this_registry=2,
    )
    del digests, blobs, own, tags
    inventory_bytes = _peak_bytes()
    start = time.process_time()
    found = plan.plan(inventory, used, Settings(), now, policy=half)
    seconds = time.process_time() - start
    assert len(found.deletions) > MANIFESTS // 2, "half of the tags and manifests go"
    return {"plan_s": seconds, "bytes": _peak_bytes(), "inventory_bytes": inventory_bytes}


if __name__ == "__main__":
    print(json.dumps({"graph": _graph, "plan": _plan, "images": _images}[sys.argv[1]]()))
