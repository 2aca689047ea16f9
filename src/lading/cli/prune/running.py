"""Runs the work of a prune command; a guard that refuses ends it with exit code 3."""

from collections.abc import Awaitable, Callable

import click

from lading.cli import output, running
from lading.pruning.engine.apply import CanaryFailed
from lading.pruning.engine.guards import GuardRefused
from lading.wiring import prune as wiring
from lading.wiring.prune import Opened, Options

EXIT_GUARD = 3


def run(options: Options, work: Callable[[Opened], Awaitable[None]]) -> None:
    async def opened() -> None:
        async with wiring.open_pruner(options) as found:
            await work(found)

    try:
        running.run(opened())
    except (GuardRefused, CanaryFailed) as error:
        output.sentence(f"Error: {error}", err=True)
        raise click.exceptions.Exit(EXIT_GUARD) from error
