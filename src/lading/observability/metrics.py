"""The metrics that every process has, in one registry that is handed in; features add theirs.

Nothing here is global: two worlds in one process (tests, the simulator) count for themselves.
Names and labels are user-visible: a change of one is a change of the documentation.
"""

from collections.abc import Callable
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

import lading
from lading.kernel.objects import Resource

# From a cached no-op (1 ms) to a reconcile that waited for a slow API server.
SECONDS_BUCKETS = (0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0)


class Metrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self.build_info = Gauge(
            "lading_build_info", "1, with the version as a label.", ("version",), registry=registry
        )
        self.build_info.labels(lading.__version__).set(1)
        self.queue_depth = Gauge(
            "lading_queue_depth",
            "Keys that wait for a worker.",
            ("controller",),
            registry=registry,
        )
        self.reconciles = Counter(
            "lading_reconciles",
            "Reconciles by how they ended: success, replan, transient, error.",
            ("controller", "outcome"),
            registry=registry,
        )
        self.reconcile_seconds = Histogram(
            "lading_reconcile_seconds",
            "Duration of reconciles.",
            ("controller",),
            registry=registry,
            buckets=SECONDS_BUCKETS,
        )
        self.informer_objects = Gauge(
            "lading_informer_objects", "Objects in the cache.", ("resource",), registry=registry
        )
        self.informer_relists = Counter(
            "lading_informer_relists",
            "How often all objects were listed again.",
            ("resource",),
            registry=registry,
        )
        self.informer_events = Counter(
            "lading_informer_events",
            "Watch events, bookmarks included.",
            ("resource", "type"),
            registry=registry,
        )
        self.client_requests = Counter(
            "lading_client_requests",
            "Requests to the Kubernetes API by method and status code.",
            ("method", "code"),
            registry=registry,
        )
        self.client_request_seconds = Histogram(
            "lading_client_request_seconds",
            "Time to the first byte of an answer of the Kubernetes API.",
            ("method",),
            registry=registry,
            buckets=SECONDS_BUCKETS,
        )
        self.leader = Gauge(
            "lading_leader", "1 while this process holds the lease.", ("lease",), registry=registry
        )
        self.events_dropped = Counter(
            "lading_events_dropped", "Events that were not written.", registry=registry
        )

    def watch_queue(self, controller: str, depth: Callable[[], float]) -> None:
        """Reads the depth when it is asked for, so that it costs the queue nothing."""
        self.queue_depth.labels(controller).set_function(depth)

    def watch_informer(self, resource: Resource[Any], count: Callable[[], float]) -> None:
        self.informer_objects.labels(resource_label(resource)).set_function(count)


def resource_label(resource: Resource[Any]) -> str:
    """The resource as kubectl writes it: `pods`, `leases.coordination.k8s.io`."""
    return f"{resource.plural}.{resource.group}".rstrip(".")
