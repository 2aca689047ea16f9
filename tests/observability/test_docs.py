"""The pages of docs/ list every metric and every reason, and no metric that is gone."""

import enum
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.metrics import MetricWrapperBase

import lading
from lading.pinned_images.cluster.fleet import Fleet
from lading.prepull.types import RollOut
from lading.wiring.features import FEATURES
from tests.pinned_images.cluster.build import empty_caches

REPOSITORY = Path(__file__).parents[2]
PAGE = REPOSITORY / "docs" / "metrics.md"
REASONS = ("Reason", "Why", "State", "ConditionType", "PullErrorKind", "Guard")
"""How the enumerations are called that users read in statuses, events, metrics and tables."""
INTERNAL = {"lading.boot_images.ignition.findings.RejectionReason"}  # users read its sentences only
NEEDED: dict[str, Any] = {"fleet": Fleet(empty_caches()), "images": (), "roll_out": RollOut}
"""What the constructors of metrics want beside the registry."""
Family = tuple[str, tuple[str, ...], str]


def modules(package: ModuleType) -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        yield importlib.import_module(found.name)


def feature_packages() -> list[ModuleType]:
    """Those of the features, and that of the prune job, which is no part of a process."""
    names = {one.name.replace("-", "_") for one in FEATURES} | {"pruning"}
    return [importlib.import_module(f"lading.{name}") for name in sorted(names)]


def classes(found: Iterable[ModuleType]) -> Iterator[type]:
    for module in found:
        for _, one in inspect.getmembers(module, inspect.isclass):
            if one.__module__ == module.__name__:
                yield one


def served() -> set[Family]:
    """Name as Prometheus stores it, labels and type of everything that any module registers."""
    holders = [
        one
        for one in classes(modules(lading))
        if one.__module__.endswith(".metrics") and one.__name__.endswith("Metrics")
    ]
    families: set[Family] = set()
    for holder in holders:
        registry = CollectorRegistry()
        wanted = inspect.signature(holder).parameters
        made = holder(registry, **{name: one for name, one in NEEDED.items() if name in wanted})
        values = vars(made).values()
        families |= {_described(one) for one in values if isinstance(one, MetricWrapperBase)}
        collected = made.collect() if hasattr(made, "collect") else ()
        families |= {(one.name, tuple(one._labelnames), one.type) for one in collected}
    return families


def _described(metric: MetricWrapperBase) -> Family:
    kind = str(metric._type)
    return metric._name + "_total" * (kind == "counter"), tuple(metric._labelnames), kind


def documented() -> set[Family]:
    rows = re.findall(
        r"^\| `(lading_\w+)` \|([^|]*)\| (\w+) \|", PAGE.read_text(), flags=re.MULTILINE
    )
    return {(name, tuple(re.findall(r"`(\w+)`", labels)), kind) for name, labels, kind in rows}


def test_the_page_and_the_code_name_the_same_metrics() -> None:
    assert documented() == served()


def test_no_module_registers_a_metric_that_the_page_cannot_know_of() -> None:
    """Every metric is made in a module `metrics`, where the test above finds it."""
    makers = {
        str(path.relative_to(REPOSITORY / "src"))
        for path in (REPOSITORY / "src").rglob("*.py")
        if re.search(r"(Counter|Gauge|Histogram|Summary|MetricFamily)\(", path.read_text())
        and "prometheus_client" in path.read_text()
    }
    assert {Path(one).name for one in makers} == {"metrics.py"}


def reasons() -> list[type[enum.StrEnum]]:
    return [
        one
        for package in feature_packages()
        for one in classes(modules(package))
        if issubclass(one, enum.StrEnum)
        and one.__name__.endswith(REASONS)
        and f"{one.__module__}.{one.__name__}" not in INTERNAL
    ]


@pytest.mark.parametrize("found", reasons(), ids=lambda one: f"{one.__module__}.{one.__name__}")
def test_every_reason_is_documented(found: type[enum.StrEnum]) -> None:
    """In a page of docs/ or in the README of the feature, as code."""
    package = found.__module__.split(".")[1]
    pages = (*(REPOSITORY / "docs").glob("*.md"), REPOSITORY / "src/lading" / package / "README.md")
    words = {word for page in pages for word in re.findall(r"`([\w-]+)`", page.read_text())}
    assert {one.value for one in found} - words == set()


@pytest.mark.parametrize("package", feature_packages(), ids=lambda one: str(one.__name__))
def test_the_overviews_show_every_feature(package: ModuleType) -> None:
    folder = package.__name__.partition(".")[2]
    assert f"src/lading/{folder}/README.md" in (REPOSITORY / "README.md").read_text()
    assert f"`{folder}/`" in (REPOSITORY / "ARCHITECTURE.md").read_text()
    assert (REPOSITORY / "src/lading" / folder / "README.md").is_file()


def test_reasons_of_every_feature_that_has_any_are_found() -> None:
    found = {one.__module__.split(".")[1] for one in reasons()}
    assert found >= {"boot_images", "pinned_images", "pruning", "runtime_images"}
