"""Metrics of the ImagePruner. Only the leader has them. Users see the names and labels."""

from collections.abc import Callable, Iterable
from datetime import datetime

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from lading.pruning.operator.types import PrunerFacts

_PREFIX = "lading_pruning"


class ImagePrunerMetrics(Collector):
    """Computed at each scrape; empty until this process has reconciled."""

    def __init__(
        self, registry: CollectorRegistry, *, pruner_facts: Callable[[], PrunerFacts | None]
    ) -> None:
        self._facts = pruner_facts
        registry.register(self)

    def collect(self) -> Iterable[GaugeMetricFamily]:
        found = self._facts()
        if found is None:
            return
        yield _gauge("exists", "Whether the ImagePruner exists.", found.exists)
        yield _gauge("scheduled", "Whether the next Job is scheduled.", found.is_scheduled)
        yield _gauge("suspended", "Whether pruning is suspended.", found.is_suspended)
        yield _gauge("failed", "Whether the most recent Job failed.", found.has_failed)
        yield _time("scheduled_since", "When the schedule came into effect.", found.scheduled_since)
        yield _time("active_since", "When the running Job started.", found.active_since)
        yield _time("last_success", "When a Job last succeeded; 0 if never.", found.last_success, 0)
        period = found.period.total_seconds() if found.period else None
        yield _gauge("period_seconds", "The longest time between two scheduled runs.", period)
        duration = found.last_duration.total_seconds() if found.last_duration else None
        yield _gauge("last_duration_seconds", "How long the most recent Job ran.", duration)
        yield from _runs(found)


def _runs(found: PrunerFacts) -> Iterable[GaugeMetricFamily]:
    """Of the most recent Job, one value for each registry."""
    texts = {
        "candidates": "Deletions that the most recent Job planned.",
        "deleted": "Deletions that the most recent Job did.",
        "released_bytes": "Bytes that nothing in the registry needs after the most recent Job.",
        "freed_bytes": "Bytes that the most recent Job deleted.",
        "unknown_references": "References that cannot be read. What they may name is kept.",
    }
    for name, text in texts.items():
        family = GaugeMetricFamily(f"{_PREFIX}_{name}", text, labels=("registry",))
        for run in found.runs:
            family.add_metric((run.name,), getattr(run, name))
        yield family
    kept = GaugeMetricFamily(
        f"{_PREFIX}_kept",
        "What the most recent Job kept, by reason.",
        labels=("registry", "reason"),
    )
    for run in found.runs:
        for reason, count in run.kept.items():
            kept.add_metric((run.name, reason), count)
    yield kept


def _gauge(name: str, text: str, value: float | bool | None) -> GaugeMetricFamily:
    """Without a value if it is unknown."""
    family = GaugeMetricFamily(f"{_PREFIX}_{name}", text)
    if value is not None:
        family.add_metric((), float(value))
    return family


def _time(
    name: str, text: str, at: datetime | None, default: float | None = None
) -> GaugeMetricFamily:
    seconds = at.timestamp() if at is not None else default
    return _gauge(f"{name}_timestamp_seconds", text, seconds)
