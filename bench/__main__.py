"""Runs every bench, or the ones that are named, and prints one table and one JSON document.

    python -m bench [NAME ...] > numbers.json       the table goes to standard error

Whatever is promised is a ratio or a share of a limit, measured in the same run; absolute numbers
belong to the machine. A share of a limit above 1 is marked. A bench that this machine cannot run
is reported and leaves the others alone.
"""

import importlib
import json
import sys

import click

from tests.real.setup.errors import CannotRunHere

SHARE = "share_of_limit"
NAMES = (
    "start",
    "informer",
    "kube_client",
    "kube_server",
    "registry_client",
    "pin_planning",
    "agent_idle",
    "fleet",
    "preload",
    "prune",
    "dashboard",
    "sweep",
)


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(NAMES))
def main(names: tuple[str, ...]) -> None:
    """Measure Lading against the least that it could be, and against other ways to do its work."""
    results: dict[str, dict[str, float]] = {}
    for name in names or NAMES:
        click.echo(f"{name} ...", err=True)
        try:
            results[name] = importlib.import_module(f"bench.{name}").run()
        except CannotRunHere as error:
            click.echo(f"{name}: {error}", err=True)
            continue
        for what, number in results[name].items():
            over = what.endswith(SHARE) and number > 1
            click.echo(f"  {what:58}{number:12.2f}{'  OVER' if over else ''}", err=True)
    json.dump(results, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
