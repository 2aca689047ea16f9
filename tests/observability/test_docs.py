"""The pages of docs/ list every metric and every reason, and no metric that is gone."""

import ast
import enum
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

import lading
from lading.pruning.sweep.types import BlobReason
from lading.wiring.features import FEATURES
from tests.docs import metric_tables

REPOSITORY = Path(__file__).parents[2]
REASONS_PAGE = REPOSITORY / "docs" / "reasons.md"
REASONS = (
    *("Reason", "State", "ConditionType", "PullErrorKind", "Guard", "Why", "EnabledBy"),
    *("Result", "HoldingWay"),
)
"""How the enumerations are called that users read in statuses, events, metrics and tables."""
OF_OTHERS = ("lading.embedded.", "lading.api.", "lading.adapters.", "lading.ports.")
PLAYS_KUBERNETES = ("embedded/node.py", "embedded/workloads")
"""Kubernetes' own words, which its documentation explains."""
INTERNAL = {"lading.boot_images.ignition.findings.RejectionReason"}  # users read its sentences only


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


def test_a_generated_page_is_fresh() -> None:
    text = (REPOSITORY / metric_tables.PAGE).read_text(encoding="utf-8")
    assert metric_tables.page(text) == text, "run `make generate`"


def documented() -> set[str]:
    """The names in the tables of docs/metrics.md."""
    text = (REPOSITORY / metric_tables.PAGE).read_text(encoding="utf-8")
    return set(re.findall(r"^\| `(lading_\w+)[^`]*` \|", text, flags=re.MULTILINE))


def served() -> set[str]:
    found = (one.__name__ for one in modules(lading) if one.__name__.endswith(".metrics"))
    return {family.name for module in found for family in metric_tables.families(module)}


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
        for one in classes(modules(lading))
        if issubclass(one, enum.StrEnum)
        and one.__name__.endswith(REASONS)
        and not one.__module__.startswith(OF_OTHERS)
        and f"{one.__module__}.{one.__name__}" not in INTERNAL
    ]


def listed_reasons() -> set[str]:
    """The words in the first column of the tables of docs/reasons.md."""
    cells = re.findall(r"^\| (`[^|]*) \|", REASONS_PAGE.read_text(), flags=re.MULTILINE)
    return {word for cell in cells for word in re.findall(r"`([^`]+)`", cell)}


@pytest.mark.parametrize("found", reasons(), ids=lambda one: f"{one.__module__}.{one.__name__}")
def test_every_reason_is_documented(found: type[enum.StrEnum]) -> None:
    assert {one.value for one in found} - listed_reasons() == set()


def test_no_reason_is_listed_that_is_gone() -> None:
    assert listed_reasons() - {one.value for found in reasons() for one in found} == set()


def test_every_reason_of_a_sweep_is_documented_with_what_happens() -> None:
    page = (REPOSITORY / "docs" / "pruning.md").read_text(encoding="utf-8")
    section = page.partition("\n## Freeing storage\n")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| `([A-Z]\w+)` \|", section, flags=re.MULTILINE)
    assert listed == [one.label for one in BlobReason]


def source_files() -> list[Path]:
    """Everything that may write a condition or an event of ours."""
    root = REPOSITORY / "src" / "lading"
    others = {one.split(".")[1] for one in OF_OTHERS}
    return sorted(
        path
        for path in root.rglob("*.py")
        if path.parts[len(root.parts)] not in others
        and not any(path.is_relative_to(root / one) for one in PLAYS_KUBERNETES)
    )


def literals(path: Path) -> set[str]:
    """Reasons, and types of conditions, that are written as text: no page can know of them."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    constants = {
        target.id: one.value
        for one in tree.body
        if isinstance(one, ast.Assign)
        for target in one.targets
        if isinstance(target, ast.Name)
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        for place in places(node):
            for inner in ast.walk(place):
                value = constants.get(inner.id) if isinstance(inner, ast.Name) else inner
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    found |= {value.value} if WORD.fullmatch(value.value) else set()
    return found


def places(node: ast.AST) -> list[ast.expr]:
    """Where a reason or the type of a condition stands."""
    if isinstance(node, ast.Call):
        called = ast.unparse(node.func).rpartition(".")[2].lower()
        named = [one.value for one in node.keywords if one.arg == "reason"]
        if called in ("condition", "_condition", "_event", "record") or called.endswith("event"):
            return [*node.args, *(one.value for one in node.keywords if one.arg != "action")]
        return named
    if isinstance(node, ast.Assign) and "reason" in (ast.unparse(one) for one in node.targets):
        return [node.value]
    return []


WORD = re.compile("[A-Z][a-z]+[A-Za-z]*")


def test_no_reason_and_no_condition_is_a_literal() -> None:
    """They are members of an enumeration, where the test above finds them."""
    found = {"/".join(path.parts[-3:]): literals(path) for path in source_files()}
    assert found
    assert {name: words for name, words in found.items() if words} == {}


@pytest.mark.parametrize(
    "text",
    [
        'Condition(type=T, status=S, reason="Broken", message=m)',
        'reason = a if b else "Broken"',
        'TYPE = "Broken"\n_condition(TYPE, True, R.X, "a sentence")',
        'self._event(one, "Broken", "a sentence", Severity.NORMAL)',
        'RecordEvent(reason="Broken", because=b)',
        'recorder.record(one, reason="Broken", action="Do", note="a sentence")',
    ],
)
def test_a_literal_is_found(text: str, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(text)
    assert literals(path) == {"Broken"}


@pytest.mark.parametrize("package", feature_packages(), ids=lambda one: str(one.__name__))
def test_the_overviews_show_every_feature(package: ModuleType) -> None:
    folder = package.__name__.partition(".")[2]
    assert f"src/lading/{folder}/README.md" in (REPOSITORY / "README.md").read_text()
    assert f"`{folder}/`" in (REPOSITORY / "ARCHITECTURE.md").read_text()
    assert (REPOSITORY / "src/lading" / folder / "README.md").is_file()


def test_reasons_of_every_feature_that_has_any_are_found() -> None:
    found = {one.__module__.split(".")[1] for one in reasons()}
    assert found >= {"boot_images", "pinned_images", "pruning", "runtime_images"}
