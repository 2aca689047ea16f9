"""The dashboard of a large cluster as a process of its own, so that its memory can be read.

Prints the URL. Each line of standard input is a number: so many changes, one after the other. Then
it prints the longest turn of its event loop since the start, in milliseconds of CPU. The turns of
the simulated API server are among them.
"""

import asyncio
import sys

from bench.dashboard_objects import IMAGES_PER_SET, LargeCluster
from bench.turns import MeasuredLoop
from lading.adapters.clock import SystemClock
from lading.loop import tasks
from lading.web import serving

CHANGE_SECONDS = 0.5  # so that each change is an event of its own


async def main(cluster: LargeCluster) -> None:
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
            print(1000 * MeasuredLoop.longest_turn_seconds, flush=True)


if __name__ == "__main__":
    made = LargeCluster(nodes=int(sys.argv[1]), sets=int(sys.argv[2]))
    with asyncio.Runner(loop_factory=MeasuredLoop) as runner:
        runner.run(main(made))
