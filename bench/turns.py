"""An event loop that knows its longest turn.

The CPU time of a turn counts, not the time of the clock: other work on the machine is not ours. A
turn that imports modules is left out: a feature loads its code once, when it starts.
"""

import asyncio
import sys
import time


class MeasuredLoop(asyncio.SelectorEventLoop):
    longest_turn_seconds = 0.0

    def _run_once(self) -> None:
        began, modules = time.thread_time(), len(sys.modules)
        super()._run_once()  # type: ignore[misc]
        took = time.thread_time() - began
        if len(sys.modules) == modules:
            MeasuredLoop.longest_turn_seconds = max(MeasuredLoop.longest_turn_seconds, took)
