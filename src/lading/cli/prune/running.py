"""Runs the work of a prune command. A guard that refuses ends it with exit code 3."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager

import click

from lading.cli import output, running, terminal
from lading.cli.error_messages import RefusedByGuard
from lading.cli.terminal import Step
from lading.kernel import texts
from lading.ports.registry import RegistryError, Unavailable, Untrusted
from lading.pruning.engine.decisions.guards import GuardRefused
from lading.pruning.engine.effects.outcomes import CanaryFailed
from lading.pruning.engine.effects.run_lock import RunInProgress
from lading.pruning.engine.inventory.observe_streams import NoImageStreams
from lading.pruning.engine.progress import PruneProgress
from lading.pruning.sweep.probe import ProbeFailed
from lading.wiring import prune as wiring
from lading.wiring.prune import PruneOptions, PruneSession

REFUSALS = (GuardRefused, CanaryFailed, ProbeFailed, RunInProgress)


def run(
    options: PruneOptions,
    work: Callable[[PruneSession], Awaitable[None]],
    *,
    ok_if_no_registry: bool = False,
) -> None:
    async def with_session() -> None:
        async with wiring.open_pruner(options) as session:
            await work(session)

    try:
        running.run(with_session())
    except (wiring.NothingToPrune, NoImageStreams) as error:
        if not ok_if_no_registry:
            raise
        output.sentence(f"Nothing to prune: {error}")
    except RegistryError as error:
        if hint := _hint(error):
            raise click.ClickException(f"{reason(error)}; {hint}") from error
        raise
    except REFUSALS as error:
        raise refused(error) from error


def refused(error: Exception) -> RefusedByGuard:
    return RefusedByGuard(texts.bounded_text(str(error), keep_lines=True))


def _hint(error: RegistryError) -> str:
    """The option that helps to reach the registry."""
    if isinstance(error, Untrusted):
        return "name its authority with --certificate-authority, or set --force-insecure"
    if not isinstance(error, Unavailable) or error.status:
        return ""
    if "TLS failed" in str(error):
        return "if it does not use TLS, begin --registry-url with http://"
    return "set --registry-url to an address that this machine can reach"


def reason(error: RegistryError) -> str:
    """Without the name of the request: no request would succeed."""
    _, found, rest = str(error).partition(": cannot connect to ")
    return f"cannot connect to {rest}" if found else str(error).removesuffix(".")


def with_progress(progress: PruneProgress) -> AbstractAsyncContextManager[None]:
    """While the block runs; the line is gone before anything else is printed."""
    return terminal.progress(_steps(progress))


async def _steps(progress: PruneProgress) -> AsyncIterator[Step]:
    while True:
        yield step(progress)


def step(progress: PruneProgress) -> Step:
    if not progress.phase:
        return Step("connecting")
    if not progress.total:
        return Step(f"{progress.phase} {progress.done or ''}".rstrip())
    text = f"{progress.phase}, {progress.done} of {progress.total}"
    return Step(text, done=progress.done, total=progress.total)
