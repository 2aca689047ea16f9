"""Runs the work of a prune command; a guard that refuses ends it with exit code 3."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import click

from lading.cli import output, running
from lading.cli.exit_codes import RefusedByGuard
from lading.kernel import texts
from lading.ports.registry import RegistryError, Unavailable, Untrusted

if TYPE_CHECKING:
    from lading.wiring.prune import Opened, Options


def _hint(error: RegistryError) -> str:
    """The option that helps to reach the registry."""
    if isinstance(error, Untrusted):
        return "name its authority with --certificate-authority, or set --force-insecure"
    if not isinstance(error, Unavailable) or error.status:
        return ""
    if "TLS failed" in str(error):
        return "if it does not use TLS, begin --registry-url with http://"
    return "set --registry-url to an address that this machine can reach"


def _reason(error: RegistryError) -> str:
    """Without what was read first: the registry did not answer to anything."""
    _, found, reason = str(error).partition(": cannot connect to ")
    return f"cannot connect to {reason}" if found else str(error).removesuffix(".")


def run(
    options: "Options",
    work: Callable[["Opened"], Awaitable[None]],
    *,
    allow_nothing: bool = False,
) -> None:
    # Slow to load, and no --help needs any of it.
    from lading.pruning.engine.decisions.guards import GuardRefused
    from lading.pruning.engine.effects.canary import CanaryFailed
    from lading.pruning.engine.inventory.observe_streams import NoImageStreams
    from lading.pruning.sweep.probe import ProbeFailed
    from lading.wiring import prune as wiring

    async def opened() -> None:
        async with wiring.open_pruner(options) as found:
            await work(found)

    try:
        running.run(opened())
    except (wiring.NothingToPrune, NoImageStreams) as error:
        if not allow_nothing:
            raise
        output.sentence(f"Nothing to prune: {error}")
    except RegistryError as error:
        if hint := _hint(error):
            raise click.ClickException(f"{_reason(error)}; {hint}") from error
        raise
    except (GuardRefused, CanaryFailed, ProbeFailed) as error:
        raise RefusedByGuard(texts.bounded_text(str(error), keep_lines=True)) from error
