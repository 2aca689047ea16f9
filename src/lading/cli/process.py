"""What every long-running command shares: its options, its logs, its endpoint, its way to end."""

import asyncio
import functools
import gc
import random
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import click
import structlog
from prometheus_client import CollectorRegistry

from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.connection import Connection
from lading.cli import options
from lading.loop import tasks
from lading.loop.dependencies import DependencyWaiter
from lading.loop.manager import Manager
from lading.observability import logs
from lading.observability.logs import LogFormat
from lading.observability.metrics import Metrics
from lading.wiring import clusters
from lading.wiring.clock import system_clock

if TYPE_CHECKING:
    from lading.observability.endpoint import Pages

log = structlog.get_logger(__name__)

_GC_THRESHOLD = 700
"""As of Python 3.11, in place of the one for a quick start: a long run makes garbage."""


class ServingProcess:
    """One long-running command, as far as others see it."""

    def __init__(self, *, metrics_host: str, metrics_port: int, metrics: Metrics) -> None:
        self.metrics = metrics
        self.dependencies = DependencyWaiter(system_clock(), random.SystemRandom())
        self._metrics_host = metrics_host
        self._metrics_port = metrics_port
        self._waiting_for = self.dependencies.waiting_for
        self._waiting_features: Callable[[], tuple[str, ...]] = tuple
        self._pages: Callable[[], Pages] = dict

    async def serve(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Does the work until a signal asks us to end; then everything stops in its order."""
        await until_signalled(self._serve(work))
        log.info("stopped")

    @asynccontextmanager
    async def open_kube(self, connection: Connection) -> AsyncIterator[KubeClient]:
        """A client of a cluster that answers and accepts our credentials."""
        async with clusters.open_client(
            connection,
            system_clock(),
            on_warning=lambda text: log.warning("API server", warning=text),
            metrics=self.metrics,
        ) as kube:
            await self.dependencies.wait_for(
                "the API server", lambda: clusters.require_credentials(kube)
            )
            yield kube

    @asynccontextmanager
    async def open_lease_kube(self, connection: Connection) -> AsyncIterator[KubeClient]:
        """A client with connections of its own and no rate limit: renewing a lease cannot wait."""
        async with clusters.open_client(
            connection, system_clock(), metrics=self.metrics, is_rate_limited=False
        ) as kube:
            yield kube

    async def run(self, manager: Manager) -> None:
        """From now on ready means that its caches are complete."""
        self._waiting_for = manager.unsynced
        self._waiting_features = manager.waiting
        self._pages = manager.pages
        # What is loaded by now stays: a full garbage collection need not look at it each time.
        gc.freeze()
        await manager.run()

    async def _serve(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        from lading.observability import endpoint  # slow to load, and --help needs none of it

        async with endpoint.serve(
            host=self._metrics_host,
            port=self._metrics_port,
            registry=self.metrics.registry,
            waiting_for=lambda: self._waiting_for(),
            waiting_features=lambda: self._waiting_features(),
            pages=lambda: self._pages(),
        ) as url:
            log.info("serving", url=url)
            await work()


async def until_signalled(work: Coroutine[Any, Any, None]) -> None:
    """Runs the work until it ends, or until Ctrl-C or a termination cancels it."""
    gc.set_threshold(_GC_THRESHOLD)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with tasks.started(work) as working, tasks.started(stopped.wait()) as stopping:
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            _raise_the_first(working)


def _raise_the_first(work: asyncio.Task[None]) -> None:
    """One error says more than the groups it came in."""
    error = work.exception()
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if error is not None:
        raise error


def process_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the shared options, sets up the logs, and hands the rest over as `process`."""

    @click.option(
        "--metrics-host",
        metavar="ADDRESS",
        default="127.0.0.1",
        show_default=True,
        help="The address of /metrics, /healthz and /readyz.",
    )
    @click.option(
        "--metrics-port",
        metavar="PORT",
        type=click.IntRange(0, 65535),
        default=0,
        show_default=True,
        help="The port of /metrics, /healthz and /readyz; 0 takes a free port and logs it.",
    )
    @options.log_level_option(default="info")
    @options.choice_option(
        "--log-format",
        default=LogFormat.JSON,
        choices=LogFormat,
        help="json for programs, console for people.",
    )
    @functools.wraps(command)
    def with_process(
        *args: Any,
        metrics_host: str,
        metrics_port: int,
        log_level: str,
        log_format: LogFormat,
        **more: Any,
    ) -> Any:
        logs.configure(log_format, log_level)
        process = ServingProcess(
            metrics_host=metrics_host,
            metrics_port=metrics_port,
            metrics=Metrics(CollectorRegistry()),
        )
        return command(*args, process=process, **more)

    return with_process
