"""`lading controller` as a process of its own, whose longest turn of the event loop is measured.

    python -m bench.fleet_controller FILE ARGUMENT ...       as `lading ARGUMENT ...`

The CPU time of a turn counts, not the time of the clock: other work on the machine is not ours.
"""

import asyncio
import sys
import time
from pathlib import Path

from lading.cli.main import main

LONGEST_TURNS = 5


class MeasuredLoop(asyncio.SelectorEventLoop):
    longest: list[float] = []

    def _run_once(self) -> None:
        began = time.thread_time()
        super()._run_once()  # type: ignore[misc]
        took = time.thread_time() - began
        if len(self.longest) < LONGEST_TURNS or took > self.longest[-1]:
            self.longest[:] = sorted((*self.longest, took), reverse=True)[:LONGEST_TURNS]


class MeasuredPolicy(asyncio.DefaultEventLoopPolicy):
    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        return MeasuredLoop()


if __name__ == "__main__":
    file, *arguments = sys.argv[1:]
    asyncio.set_event_loop_policy(MeasuredPolicy())
    try:
        main(arguments)
    finally:
        turns = " ".join(f"{1000 * took:.1f}" for took in MeasuredLoop.longest)
        Path(file).write_text(turns, encoding="utf-8")
