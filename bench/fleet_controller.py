"""`lading controller` as a process of its own, with its longest turn of the event loop measured.

    python -m bench.fleet_controller FILE ARGUMENT ...       as `lading ARGUMENT ...`

The CPU time of a turn counts, not the time of the clock: other work on the machine is not ours. A
turn that imports modules is left out: a feature loads its code once, when it starts.
"""

import asyncio
import sys
import time
from pathlib import Path

from lading.cli.main import main


class MeasuredLoop(asyncio.SelectorEventLoop):
    longest_turn_seconds = 0.0

    def _run_once(self) -> None:
        began, modules = time.thread_time(), len(sys.modules)
        super()._run_once()  # type: ignore[misc]
        took = time.thread_time() - began
        if len(sys.modules) == modules:
            MeasuredLoop.longest_turn_seconds = max(MeasuredLoop.longest_turn_seconds, took)


class MeasuredPolicy(asyncio.DefaultEventLoopPolicy):
    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        return MeasuredLoop()


if __name__ == "__main__":
    file, *arguments = sys.argv[1:]
    asyncio.set_event_loop_policy(MeasuredPolicy())
    try:
        main(arguments)
    finally:
        Path(file).write_text(str(1000 * MeasuredLoop.longest_turn_seconds), encoding="utf-8")
