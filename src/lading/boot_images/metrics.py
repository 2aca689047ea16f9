"""The number of machine sets by state, as a metric.

Users see the names and labels: a change here is a change of the documentation.
"""

from collections import Counter
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Gauge

from lading.api.machineconfiguration.boot_image_history import MachineSetBootImageHistory
from lading.boot_images.verdicts import MachineSetState


class BootImageMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.machine_sets = Gauge(
            "lading_boot_images_machine_sets",
            "Machine sets by their state (docs/reasons.md), of both APIs.",
            ("state",),
            registry=registry,
        )

    def count(self, histories: Iterable[MachineSetBootImageHistory]) -> None:
        found = Counter(one.status.state for one in histories if not one.spec.removed_time)
        for state in MachineSetState:
            self.machine_sets.labels(state).set(found[state])
