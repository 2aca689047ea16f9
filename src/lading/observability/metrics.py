"""The metrics of every process, in one registry. Features add their own.

There are no global metrics: two clusters in one process count separately. Names and labels are
part of the documentation.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

import lading
from lading.kernel.objects import Resource
from lading.ports.http import HttpTransport, Request, Response

# From a cached no-op (1 ms) to a reconcile that waited for a slow API server.
SECONDS_BUCKETS = (0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0)
NO_ANSWER = "none"


class Metrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        gauge = partial(Gauge, registry=registry)
        counter = partial(Counter, registry=registry)
        histogram = partial(Histogram, registry=registry, buckets=SECONDS_BUCKETS)
        self.build_info = gauge(
            "lading_build_info", "1, with the version of the process as a label.", ("version",)
        )
        self.build_info.labels(lading.__version__).set(1)
        self.queue_depth = gauge(
            "lading_queue_depth", "Keys that wait for a worker.", ("controller",)
        )
        self.reconciles = counter(
            "lading_reconciles",
            "Reconciles by outcome: success, replan (an object changed meanwhile), transient (a "
            "temporary failure), error (a bug).",
            ("controller", "outcome"),
        )
        self.reconcile_seconds = histogram(
            "lading_reconcile_seconds", "How long a reconcile took.", ("controller",)
        )
        self.informer_objects = gauge(
            "lading_informer_objects",
            "Objects of the resource in the caches of the process.",
            ("resource",),
        )
        self.informer_relists = counter(
            "lading_informer_relists", "How often all objects were listed again.", ("resource",)
        )
        self.informer_events = counter(
            "lading_informer_events", "Watch events, bookmarks included.", ("resource", "type")
        )
        self.client_requests = counter(
            "lading_client_requests",
            "Requests to the Kubernetes API by method and status code.",
            ("method", "code"),
        )
        self.client_request_seconds = histogram(
            "lading_client_request_seconds",
            "Time to the first byte of an answer of the Kubernetes API.",
            ("method",),
        )
        self.leader = gauge("lading_leader", "1 while this process holds the lease.", ("lease",))
        self.events_dropped = counter(
            "lading_events_dropped", "Kubernetes Events that could not be written."
        )

    def watch_queue(self, controller: str, depth: Callable[[], float]) -> None:
        """Reads the depth during a scrape, at no cost for the queue."""
        self.queue_depth.labels(controller).set_function(depth)

    def watch_informer(self, resource: Resource[Any], count: Callable[[], float]) -> None:
        self.informer_objects.labels(resource_label(resource)).set_function(count)

    def measured(self, transport: HttpTransport) -> HttpTransport:
        """Counts and times the requests that go through the transport."""

        async def measure(request: Request) -> Response:
            code = NO_ANSWER
            started_at = time.perf_counter()
            try:
                response = await transport(request)
                code = str(response.status)
                return response
            finally:
                self.client_requests.labels(request.method, code).inc()
                seconds = time.perf_counter() - started_at
                self.client_request_seconds.labels(request.method).observe(seconds)

        return measure


def resource_label(resource: Resource[Any]) -> str:
    """The resource as kubectl writes it: `pods`, `leases.coordination.k8s.io`."""
    return f"{resource.plural}.{resource.group}".rstrip(".")
