"""`lading demo`: runs and checks the whole system on this machine in under a minute."""

import tempfile
import time
from pathlib import Path

import click

from lading.cli import options, running
from lading.embedded.demo import play
from lading.observability import logs
from lading.observability.logs import LogFormat
from lading.wiring.clock import system_clock


@click.command(name="demo")
@options.log_level_option(default="error")
def command(log_level: str) -> None:
    """Run a cluster of three nodes on this machine, check every feature, and end.

    The data is in a temporary folder, which the command removes at the end.
    """
    logs.configure(LogFormat.CONSOLE, log_level)
    with tempfile.TemporaryDirectory(prefix="lading-demo-") as folder:
        running.run(_demo(Path(folder)))


async def _demo(folder: Path) -> None:
    click.echo("Lading demo: a cluster of three nodes in this process")
    began = time.monotonic()
    checks = await play.play(folder, system_clock(), click.echo)
    click.echo(f"\nAll {checks} checks passed in {time.monotonic() - began:.1f} s.")
