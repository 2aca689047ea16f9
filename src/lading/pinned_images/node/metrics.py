"""The metrics of a node: pulls, missing and pinned images. docs/metrics.md describes them."""

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from lading.pinned_images.node import rules
from lading.pinned_images.node.types import Desired, ObservedNodeImages, PullErrorKind
from lading.pinned_images.types import Progress

# From an image with all layers present to a very large one over a slow network.
PULL_SECONDS_BUCKETS = (0.2, 1.0, 5.0, 15.0, 60.0, 300.0, 1800.0)


class PinMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.pulls = Counter(
            "lading_pinned_images_pulls", "Images that were pulled for a set.", registry=registry
        )
        self.pull_failures = Counter(
            "lading_pinned_images_pull_failures",
            "Pulls that failed, by reason (docs/reasons.md).",
            ("reason",),
            registry=registry,
        )
        self.pull_bytes = Counter(
            "lading_pinned_images_pull_bytes",
            "Compressed bytes of pulled layers, without those that the node already had.",
            registry=registry,
        )
        self.pull_seconds = Histogram(
            "lading_pinned_images_pull_seconds",
            "How long a successful pull took.",
            registry=registry,
            buckets=PULL_SECONDS_BUCKETS,
        )
        self.missing = Gauge(
            "lading_pinned_images_missing",
            "Images of sets that are missing on this node.",
            registry=registry,
        )
        self.pinned = Gauge(
            "lading_pinned_images_pinned",
            "Images that Lading pinned and that the runtime reports as pinned.",
            registry=registry,
        )

    def pulled(self, *, seconds: float, size_bytes: int) -> None:
        self.pulls.inc()
        self.pull_bytes.inc(size_bytes)
        self.pull_seconds.observe(seconds)

    def failed(self, kind: PullErrorKind) -> None:
        self.pull_failures.labels(kind).inc()

    def count(self, desired: Desired, observed: ObservedNodeImages) -> None:
        self.missing.set(len(rules.wanted_images(desired) - observed.images.keys()))
        self.pinned.set(
            len({recorded.pin.image_id for recorded in observed.pins if recorded.effective})
        )


class SetMetrics(Collector):
    """The progress of each set, as `/pinned-images` has it. Computed for each scrape."""

    def __init__(
        self, registry: CollectorRegistry, progress: Callable[[], Progress | None]
    ) -> None:
        self._progress = progress
        registry.register(self)

    def collect(self) -> Iterable[GaugeMetricFamily]:
        images, size, rate = _families()
        found = self._progress()
        for one in found.sets if found else ():
            images.add_metric((one.name, "wanted"), one.image_count)
            images.add_metric((one.name, "present"), one.present_count)
            rate.add_metric((one.name,), one.bytes_per_second)
            if one.bytes_total is not None and one.bytes_done is not None:
                size.add_metric((one.name, "wanted"), one.bytes_total)
                size.add_metric((one.name, "done"), one.bytes_done)
        return images, size, rate

    def describe(self) -> Iterable[GaugeMetricFamily]:
        return _families()


def _families() -> tuple[GaugeMetricFamily, GaugeMetricFamily, GaugeMetricFamily]:
    by_state = ("pinned_image_set", "state")
    return (
        GaugeMetricFamily(
            "lading_pinned_images_set_images",
            "Images of a set on this node: wanted, present.",
            labels=by_state,
        ),
        GaugeMetricFamily(
            "lading_pinned_images_set_bytes",
            "Compressed bytes of a set on this node: wanted, done; absent while a size is not "
            "known. Running pulls are estimated by the growth of the disk.",
            labels=by_state,
        ),
        GaugeMetricFamily(
            "lading_pinned_images_set_bytes_per_second",
            "Bytes per second of the running pulls of a set, estimated by the growth of the disk.",
            labels=("pinned_image_set",),
        ),
    )
