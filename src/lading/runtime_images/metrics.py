"""Metrics: images by runtime handler, and failures. Users see the names and labels."""

from collections import Counter as Tally
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge

from lading.ports.cri import Image
from lading.runtime_images import images as node_images
from lading.runtime_images.types import DigestPull


class ImageMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.images = Gauge(
            "lading_runtime_images",
            "Images on this node by runtime handler; the name of the default handler is empty. If "
            "the runtime ignores handlers, images that Lading pulled by digest for a handler count "
            "for that handler.",
            ("runtime_handler",),
            registry=registry,
        )
        self.list_failures = Counter(
            "lading_runtime_images_list_failures",
            "Reconciles in which the images could not be listed.",
            registry=registry,
        )
        self.removal_failures = Counter(
            "lading_runtime_images_removal_failures",
            "Images that garbage collection could not remove.",
            registry=registry,
        )

    def count(self, images: Iterable[Image], digest_pulls: Iterable[DigestPull]) -> None:
        """An image that serves several handlers counts for each of them."""
        handlers = node_images.handlers_of(node_images.merged(images), digest_pulls)
        tally = Tally(handler for found in handlers.values() for handler in found.all)
        self.images.clear()
        for handler, count in tally.items():
            self.images.labels(handler).set(count)
