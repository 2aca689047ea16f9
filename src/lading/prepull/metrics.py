"""Metrics of held images. Names and labels are visible to users."""

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from lading.api.longhorn import Image
from lading.prepull.types import RollOut


class PrePullMetrics(Collector):
    """The gauges are computed at each scrape."""

    def __init__(
        self,
        registry: CollectorRegistry,
        images: Iterable[Image],
        roll_out: Callable[[], RollOut],
    ) -> None:
        self._images = images
        self._roll_out = roll_out
        self.pods_deleted = Counter(
            "lading_prepull_pods_deleted",
            "Holder pods that were deleted because an image was removed from their node.",
            registry=registry,
        )
        registry.register(self)

    def collect(self) -> Iterable[GaugeMetricFamily]:
        images = GaugeMetricFamily(
            "lading_prepull_image_nodes",
            "Worker nodes of an Image: wanted, deployed, failed.",
            labels=("image", "state"),
        )
        for one in self._images:
            name, status = one.metadata.name, one.status
            images.add_metric((name, "wanted"), status.node_count)
            images.add_metric((name, "deployed"), status.deployed_node_count)
            images.add_metric((name, "failed"), status.failed_node_count)
        found = self._roll_out()
        nodes = GaugeMetricFamily(
            "lading_prepull_nodes",
            "Worker nodes in the roll-out: pulling, or waiting for the next wave.",
            labels=("state",),
        )
        nodes.add_metric(("pulling",), found.pulling_count)
        nodes.add_metric(("waiting",), len(found.gated))
        yield images
        yield nodes
