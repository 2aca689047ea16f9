"""`lading controller` as a process of its own, with its longest turn of the event loop measured.

python -m bench.fleet_controller FILE ARGUMENT ...       as `lading ARGUMENT ...`
"""

import asyncio
import sys
from pathlib import Path

from bench.turns import MeasuredLoop
from lading.cli.main import main


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
