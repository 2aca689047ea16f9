"""The long-running commands, `agent` and `controller`: their options, clients, endpoint and end."""

import functools
import gc
import random
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import click
import structlog
from prometheus_client import CollectorRegistry

from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.connection import Connection
from lading.cli import options, running
from lading.cli.options import Removed
from lading.loop.dependencies import DependencyWaiter
from lading.loop.manager import Manager
from lading.observability import endpoint, logs
from lading.observability.endpoint import Pages
from lading.observability.logs import LogFormat
from lading.observability.metrics import Metrics
from lading.wiring import clusters
from lading.wiring.clock import system_clock

log = structlog.get_logger(__name__)


class ServingProcess:
    """Serves /metrics, /healthz and /readyz while the work of a command runs."""

    def __init__(self, *, metrics_host: str, metrics_port: int, metrics: Metrics) -> None:
        self.metrics = metrics
        self.dependencies = DependencyWaiter(system_clock(), random.SystemRandom())
        self._metrics_host = metrics_host
        self._metrics_port = metrics_port
        self._waiting_for = self.dependencies.waiting_for
        self._waiting_features: Callable[[], tuple[str, ...]] = tuple
        self._pages: Callable[[], Pages] = dict

    async def serve(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Runs the work until a signal; then its parts stop in order."""
        await running.until_signalled(self._serve(work))
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
        """A client with its own connections and no rate limit, because a renewal cannot wait."""
        async with clusters.open_client(
            connection, system_clock(), metrics=self.metrics, is_rate_limited=False
        ) as kube:
            yield kube

    async def run(self, manager: Manager) -> None:
        """From now on, ready means that all caches are complete."""
        self._waiting_for = manager.unsynced
        self._waiting_features = manager.waiting
        self._pages = manager.pages
        gc.freeze()  # modules stay until the end; a full collection need not visit them
        await manager.run()

    async def _serve(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
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


REMOVED_LOG_FORMAT = Removed("a terminal gets text, and everything else gets JSON", has_value=True)


def process_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options, sets up the logs, and passes a ServingProcess as `process`."""

    @click.option(
        "--metrics-host",
        metavar="ADDRESS",
        default="127.0.0.1",
        show_default=True,
        help="The address of /metrics, /healthz and /readyz; the pod's for probes and Prometheus.",
    )
    @options.port_option(
        "--metrics-port",
        help="The port of /metrics, /healthz and /readyz; 0 takes a free port and logs it.",
    )
    @options.log_level_option(default="info")
    @functools.wraps(command)
    def with_process(
        *args: Any, metrics_host: str, metrics_port: int, log_level: str, **more: Any
    ) -> Any:
        logs.configure(LogFormat.CONSOLE if sys.stderr.isatty() else LogFormat.JSON, log_level)
        process = ServingProcess(
            metrics_host=metrics_host,
            metrics_port=metrics_port,
            metrics=Metrics(CollectorRegistry()),
        )
        return command(*args, process=process, **more)

    return with_process
