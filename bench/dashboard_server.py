"""The dashboard of a large cluster as a process of its own, so that its memory can be read.

Prints the URL. Each line of standard input is a number: so many changes, one after the other.
"""

import asyncio
import sys

from bench.dashboard_objects import IMAGES_PER_SET, LargeCluster
from lading.adapters.clock import SystemClock
from lading.loop import tasks
from lading.web import serving

CHANGE_SECONDS = 0.5  # so that each change is an event of its own


async def main(nodes: int, sets: int) -> None:
    cluster = LargeCluster(nodes=nodes, sets=sets)
    async with (
        serving.opened(cluster, SystemClock(), cluster="bench") as served,
        tasks.started(served.run()),
    ):
        print(served.url, flush=True)
        total = 0
        while line := await asyncio.to_thread(sys.stdin.readline):
            for number in range(int(line)):
                total += 1  # never what it was: a value that stays the same is no event
                cluster.change(number, present=total % IMAGES_PER_SET)
                await asyncio.sleep(CHANGE_SECONDS)
            print("changed", flush=True)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
