"""The dashboard of a large cluster as a process of its own, so that its memory can be read.

Prints the URL. Each line of standard input is a number: so many writes, one after the other, each
of another node. Then it prints the time of the last one, in seconds since 1970, and the longest
turn of its event loop since the start, in milliseconds of CPU. The turns of the simulated API
server are among them.
"""

import asyncio
import sys
import time

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
            written = 0.0
            for number in range(int(line)):
                total += 1  # never what it was: a value that stays the same is no event
                written = time.time()
                cluster.change(number, present=total % IMAGES_PER_SET)
                await asyncio.sleep(CHANGE_SECONDS)
            print(written, 1000 * MeasuredLoop.longest_turn_seconds, flush=True)


if __name__ == "__main__":
    made = LargeCluster(nodes=int(sys.argv[1]), sets=int(sys.argv[2]))
    with asyncio.Runner(loop_factory=MeasuredLoop) as runner:
        runner.run(main(made))
