"""docs/metrics.md lists every metric with its labels and its type, and nothing that is gone."""

import re
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client.metrics import MetricWrapperBase

from lading.boot_images.metrics import BootImageMetrics
from lading.observability.metrics import Metrics
from lading.pinned_images.cluster.fleet import Fleet
from lading.pinned_images.cluster.metrics import FleetMetrics
from lading.pinned_images.node.metrics import PinMetrics
from lading.runtime_images.metrics import ImageMetrics
from tests.pinned_images.cluster.build import empty_caches

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"


def served() -> set[tuple[str, tuple[str, ...], str]]:
    """Name as Prometheus stores it, labels and type of everything that is registered."""
    registry = CollectorRegistry()
    holders = (
        Metrics(registry),
        PinMetrics(registry),
        ImageMetrics(registry),
        BootImageMetrics(registry),
    )
    values = (value for holder in holders for value in vars(holder).values())
    counted = FleetMetrics(registry, Fleet(empty_caches())).collect()
    return {_described(value) for value in values if isinstance(value, MetricWrapperBase)} | {
        (family.name, tuple(family._labelnames), family.type) for family in counted
    }


def _described(metric: MetricWrapperBase) -> tuple[str, tuple[str, ...], str]:
    kind = str(metric._type)
    return metric._name + "_total" * (kind == "counter"), tuple(metric._labelnames), kind


def documented() -> set[tuple[str, tuple[str, ...], str]]:
    rows = re.findall(
        r"^\| `(lading_\w+)` \|([^|]*)\| (\w+) \|", PAGE.read_text(), flags=re.MULTILINE
    )
    return {(name, tuple(re.findall(r"`(\w+)`", labels)), kind) for name, labels, kind in rows}


def test_the_page_and_the_code_name_the_same_metrics() -> None:
    assert documented() == served()
