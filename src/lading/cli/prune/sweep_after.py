"""The options by which `lading prune images` sweeps the storage afterwards."""

import functools
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click
import msgspec

from lading.cli import options as general
from lading.cli.prune import blobs, option_groups
from lading.pruning.engine.registry_url import RegistryUrl

if TYPE_CHECKING:
    from lading.wiring.prune import Options
    from lading.wiring.sweep import SweepOptions


class SweepAfter(msgspec.Struct, frozen=True, kw_only=True):
    grace: timedelta
    replicas: tuple[RegistryUrl, ...]

    def options(self, options: "Options") -> "SweepOptions":
        """The same registry, storage and limits as those of the images."""
        if not options.storage_url or options.url is None:
            raise click.UsageError("--sweep-blobs needs --storage and --registry-url")
        from lading.wiring import sweep as wiring  # slow to load, and --help needs none of it

        return wiring.after_images(options, urls=self.replicas or (options.url,), grace=self.grace)


def sweep_after_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options and hands them over as `sweep`; None where nothing is swept."""

    @click.option(
        "--sweep-blobs",
        is_flag=True,
        help="Then free the storage that no manifest needs, as `lading prune blobs` does; needs "
        "--storage and --registry-url.",
    )
    @click.option(
        "--sweep-grace",
        metavar="DURATION",
        callback=general.meaning(blobs.period),
        default="24h",
        show_default=True,
        help="The --grace of `lading prune blobs`.",
    )
    @option_groups.many(
        "--sweep-replica",
        "The address of a replica of the registry; default: --registry-url.",
        metavar="URL",
        callback=blobs.urls,
    )
    @functools.wraps(command)
    def with_sweep(
        *args: Any,
        sweep_blobs: bool,
        sweep_grace: timedelta,
        sweep_replica: tuple[RegistryUrl, ...],
        **more: Any,
    ) -> Any:
        sweep = SweepAfter(grace=sweep_grace, replicas=sweep_replica) if sweep_blobs else None
        return command(*args, sweep=sweep, **more)

    decorated: Callable[..., Any] = with_sweep
    return decorated
