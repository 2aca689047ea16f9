"""The metrics of pools and sets. docs/metrics.md describes them."""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from lading.pinned_images.cluster.fleet import Fleet


class FleetMetrics(Collector):
    """Live counts, computed for each scrape. Statuses report progress less often."""

    def __init__(self, registry: CollectorRegistry, fleet: Fleet) -> None:
        self._fleet = fleet
        registry.register(self)

    def collect(self) -> Iterable[GaugeMetricFamily]:
        sets = GaugeMetricFamily(
            "lading_pinned_images_set_nodes",
            "Nodes of a set: wanted, ready, failed.",
            labels=("pinned_image_set", "state"),
        )
        for name, counts in self._fleet.every_set():
            sets.add_metric((name, "wanted"), counts.node_count)
            sets.add_metric((name, "ready"), counts.ready_node_count)
            sets.add_metric((name, "failed"), counts.failed_node_count)
        pools = GaugeMetricFamily(
            "lading_pinned_images_pool_machines",
            "Machines of a pool: all, updated, degraded.",
            labels=("pool", "state"),
        )
        for name, found in self._fleet.every_pool():
            degraded = sum(count for _, count in found.problem_counts)
            pools.add_metric((name, "all"), found.machine_count)
            pools.add_metric((name, "updated"), found.updated_machine_count)
            pools.add_metric((name, "degraded"), degraded)
        yield sets
        yield pools
