"""What every long-running command shares: its clients, its endpoint, its way to end."""

import gc
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import structlog

from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.connection import Connection
from lading.cli import signals
from lading.loop.dependencies import DependencyWaiter
from lading.loop.manager import Manager
from lading.observability.metrics import Metrics
from lading.wiring import clusters
from lading.wiring.clock import system_clock

if TYPE_CHECKING:
    from lading.observability.endpoint import Pages

log = structlog.get_logger(__name__)


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
        await signals.until_signalled(self._serve(work))
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
