"""Writes the tables of docs/metrics.md: `python -m tests.docs.metric_tables REPOSITORY`.

A table names the module `metrics` that serves its metrics. Their help texts are the meanings. It
is not part of the package, because metrics can only be made with stand-ins for what they measure.
"""

import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry
from prometheus_client.metrics import MetricWrapperBase

from lading.pinned_images.cluster.fleet import Fleet
from lading.prepull.types import RollOut
from lading.pruning.operator.types import PrunerFacts
from lading.wiring.generate import docs
from lading.wiring.generate.docs import Rows
from tests.pinned_images.cluster.build import empty_caches

PAGE = Path("docs/metrics.md")
_NEEDED: dict[str, Any] = {
    "fleet": Fleet(empty_caches()),
    "images": (),
    "progress": lambda: None,
    "roll_out": RollOut,
    "pruner_facts": PrunerFacts,
}
"""What the constructors of metrics want beside the registry."""


class Family(NamedTuple):
    name: str
    """As Prometheus stores it."""
    labels: tuple[str, ...]
    kind: str
    help: str


def page(text: str) -> str:
    """The page with its tables up to date."""
    for module in re.findall(r"<!--generated: (lading\.[\w.]+)-->", text):
        text = docs.with_table(text, module, _rows(module))
    return text


def families(module: str) -> Iterator[Family]:
    """Everything that the classes of a module register."""
    for _, holder in inspect.getmembers(importlib.import_module(module), inspect.isclass):
        if holder.__module__ == module and holder.__name__.endswith("Metrics"):
            wanted = inspect.signature(holder).parameters
            more = {name: one for name, one in _NEEDED.items() if name in wanted}
            make: Callable[..., Any] = holder
            made = make(CollectorRegistry(), **more)
            for one in vars(made).values():
                if isinstance(one, MetricWrapperBase):
                    yield _family(one)
            for one in made.collect() if hasattr(made, "collect") else ():
                yield Family(one.name, tuple(one._labelnames), one.type, one.documentation)


def _family(metric: MetricWrapperBase) -> Family:
    kind = str(metric._type)
    name = metric._name + "_total" * (kind == "counter")
    return Family(name, tuple(metric._labelnames), kind, metric._documentation)


def _rows(module: str) -> Rows:
    yield from docs.head("metric", "meaning")
    for one in families(module):
        labels = f"{{{','.join(one.labels)}}}" if one.labels else ""
        kind = "Histogram. " if one.kind == "histogram" else ""
        yield f"`{one.name}{labels}`", f"{kind}{one.help}"


if __name__ == "__main__":
    file = Path(sys.argv[1], PAGE)
    file.write_text(page(file.read_text(encoding="utf-8")), encoding="utf-8")
