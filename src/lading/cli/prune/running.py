"""Runs the work of a prune command; a guard that refuses ends it with exit code 3."""

from collections.abc import Awaitable, Callable

from lading.cli import running
from lading.cli.exit_codes import RefusedByGuard
from lading.kernel import texts
from lading.pruning.engine.apply import CanaryFailed
from lading.pruning.engine.guards import GuardRefused
from lading.wiring import prune as wiring
from lading.wiring.prune import Opened, Options


def run(options: Options, work: Callable[[Opened], Awaitable[None]]) -> None:
    async def opened() -> None:
        async with wiring.open_pruner(options) as found:
            await work(found)

    try:
        running.run(opened())
    except (GuardRefused, CanaryFailed) as error:
        raise RefusedByGuard(texts.bounded_text(str(error), keep_lines=True)) from error
