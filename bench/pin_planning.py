"""What a look at a node with 10 sets of 500 images costs, in a steady state and after a change.

    python -m bench.pin_planning

The runtime, the registry and the disk are in memory, so that only our own CPU time counts. The
promise is a plan in 200 ms, registry calls for the changed images only, and none when steady.
"""

import asyncio
import json
import statistics
import tempfile
import time
from pathlib import Path

from lading.pinned_images.node import plan as policy
from lading.pinned_images.node.types import Desired
from tests.pinned_images.node import large_worlds as world
from tests.pinned_images.node import whole_nodes
from tests.pinned_images.node.whole_nodes import Node

ROUNDS = 7
PLAN_MILLISECONDS_MAX = 200.0


async def look(node: Node, desired: Desired) -> tuple[float, float]:
    """Milliseconds of CPU to observe and to plan, as medians."""
    observing, planning = [], []
    for _ in range(ROUNDS):
        began = time.process_time()
        observed = await node.observe(desired)
        seen = time.process_time()
        policy.plan(desired, observed, node.clock.now())
        planning.append((time.process_time() - seen) * 1e3)
        observing.append((seen - began) * 1e3)
    return statistics.median(observing), statistics.median(planning)


async def measure(folder: Path) -> dict[str, float]:
    steady = world.many_sets()
    changed = world.changed(steady)
    async with whole_nodes.opened(folder) as node:
        node.runtime.names.update(key.image for one in steady.sets for key in one.images)
        await node.settle(steady)
        asked_first = len(node.registry.asked)
        observe_steady, plan_steady = await look(node, steady)
        await node.settle(steady)
        asked_steady = len(node.registry.asked)
        _, plan_change = await look(node, changed)
        await node.settle(changed)
        asked_change = len(node.registry.asked)
    return {
        "images": float(world.SETS * world.IMAGES_PER_SET),
        "images_changed": float(world.IMAGES_CHANGED),
        "plan_change_milliseconds": plan_change,
        "plan_change_share_of_limit": plan_change / PLAN_MILLISECONDS_MAX,
        "plan_steady_milliseconds": plan_steady,
        "observe_steady_milliseconds": observe_steady,
        "registry_calls_steady": float(asked_steady - asked_first),
        "registry_calls_change": float(asked_change - asked_steady),
    }


def run() -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(measure(Path(folder)))


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
