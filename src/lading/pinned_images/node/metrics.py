"""What a node's preloading did and how far it is, in numbers that a monitoring system can add up.

Names and labels are user-visible and documented in docs/metrics.md.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from lading.pinned_images.node.types import Desired, ObservedNodeImages, PullErrorKind

# From an image with all layers present to a very large one over a slow line.
PULL_SECONDS_BUCKETS = (0.2, 1.0, 5.0, 15.0, 60.0, 300.0, 1800.0)


class PinMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.pulls = Counter(
            "lading_pinned_images_pulls", "Images that were pulled for a set.", registry=registry
        )
        self.pull_failures = Counter(
            "lading_pinned_images_pull_failures",
            "Pulls that failed, by the reason that the status gives too.",
            ("reason",),
            registry=registry,
        )
        self.pull_bytes = Counter(
            "lading_pinned_images_pull_bytes",
            "Compressed bytes of pulled layers that were not here when their pull began.",
            registry=registry,
        )
        self.pull_seconds = Histogram(
            "lading_pinned_images_pull_seconds",
            "How long a pull took that ended well.",
            registry=registry,
            buckets=PULL_SECONDS_BUCKETS,
        )
        self.missing = Gauge(
            "lading_pinned_images_missing",
            "Images that sets want on this node and that are not here.",
            registry=registry,
        )
        self.pinned = Gauge(
            "lading_pinned_images_pinned",
            "Images that the runtime reports as pinned by us.",
            registry=registry,
        )

    def pulled(self, *, seconds: float, size_bytes: int) -> None:
        self.pulls.inc()
        self.pull_bytes.inc(size_bytes)
        self.pull_seconds.observe(seconds)

    def failed(self, kind: PullErrorKind) -> None:
        self.pull_failures.labels(kind).inc()

    def count(self, desired: Desired, observed: ObservedNodeImages) -> None:
        wanted = {key for image_set in desired.sets for key in image_set.images}
        self.missing.set(len(wanted - observed.images.keys()))
        self.pinned.set(
            len({recorded.pin.image_id for recorded in observed.pins if recorded.effective})
        )
