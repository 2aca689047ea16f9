"""Rules, runbooks and the dashboard: each alert is documented, each query uses what is served."""

import json
import re
from typing import Any

import pytest
import yaml

from tests.deploy.manifests import DEPLOY

FOLDER = DEPLOY / "chart" / "monitoring"
DOCS = DEPLOY.parent / "docs"
METRIC = re.compile(r"lading_\w+")
SUFFIXES = re.compile(r"_(bucket|sum|count)$")
LABELS = re.compile(r"(?:by|without) \(([^)]*)\)|(\w+)=~?\"")
OF_PROMETHEUS = {"instance", "le"}


def rules() -> list[dict[str, Any]]:
    files = sorted(FOLDER.glob("*-rules.yaml"))
    groups = (one for file in files for one in yaml.safe_load(file.read_text())["groups"])
    return [one for group in groups for one in group["rules"]]


ALERTS = {one["alert"]: one for one in rules() if "alert" in one}
RECORDS = {one["record"]: one for one in rules() if "record" in one}
DASHBOARD = json.loads((FOLDER / "grafana-dashboard.json").read_text(encoding="utf-8"))
PANELS = {one["title"]: one for one in DASHBOARD["panels"]}
QUERIES = [
    *(one["expr"] for one in rules()),
    *(target["expr"] for panel in PANELS.values() for target in panel["targets"]),
]


def metrics() -> dict[str, set[str]]:
    """Those of docs/metrics.md, which a test compares with the code, with their labels."""
    page = (DOCS / "metrics.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(lading_\w+)(?:\{(.*)\})?` \|", page, flags=re.MULTILINE)
    return {name: set(re.findall(r"\w+", labels)) for name, labels in rows}


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_uses_only_metrics_and_labels_that_are_served(query: str) -> None:
    known = metrics()
    used = {SUFFIXES.sub("", name) for name in METRIC.findall(query)}
    assert used <= known.keys()
    records = {name for name in RECORDS if name in query}
    assert used or records
    of_records = {name for one in records for name in METRIC.findall(RECORDS[one]["expr"])}
    labels = set().union(OF_PROMETHEUS, *(known[name] for name in used | of_records))
    grouped = {
        name for found in LABELS.findall(query) for name in re.split(", *", found[0] or found[1])
    }
    assert grouped <= labels


def meanings() -> dict[str, str]:
    """What docs/metrics.md says about each metric."""
    page = (DOCS / "metrics.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(lading_\w+)[^`]*` \| ([^|]*) \|$", page, flags=re.MULTILINE)
    return dict(rows)


SELECTED = [
    (query, *found)
    for query in dict.fromkeys(QUERIES)
    for found in re.findall(r"(lading_\w+)\{\w+=\"(\w+)\"\}", query)
]


@pytest.mark.parametrize(("query", "metric", "value"), SELECTED)
def test_a_query_selects_a_value_that_the_label_can_have(
    query: str, metric: str, value: str
) -> None:
    """The help of a metric lists the values of its label, or refers to the page of reasons."""
    meaning = meanings()[metric]
    reasons = (DOCS / "reasons.md").read_text(encoding="utf-8")
    is_reason = "docs/reasons.md" in meaning and f"| `{value}` |" in reasons
    values = re.sub(r"\([^)]*\)", "", meaning)
    assert is_reason or re.search(rf"\b{value}\b", values)


AT_ONCE = {
    *("ImagePruningFailed", "ImagePruningTakesTooLong", "ImagePruningWithoutSuccess"),
    "LadingReconcileErrors",
}
"""They are about a Job that has ended, or look back themselves."""


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_waits_has_a_known_severity_and_names_only_labels_that_it_has(name: str) -> None:
    alert = ALERTS[name]
    assert ("for" not in alert) is (name in AT_ONCE)
    assert alert["labels"]["severity"] in ("warning", "info")
    query = alert["expr"]
    queries = [query, *(one["expr"] for record, one in RECORDS.items() if record in query)]
    grouped = {label for one in queries for label in _grouped(one)}
    description = alert["annotations"]["description"]
    actions = re.findall(r"\{\{(.*?)\}\}", description)
    assert not re.search(r"[{}]", re.sub(r"\{\{.*?\}\}", "", description))
    named = {label for one in actions for label in re.findall(r"\$labels\.(\w+)", one)}
    assert named <= grouped


def test_no_two_rules_have_one_name() -> None:
    named = [one.get("alert") or one["record"] for one in rules()]
    assert len(set(named)) == len(named)


def test_every_alert_has_a_runbook_and_is_listed() -> None:
    _, *sections = (DOCS / "runbooks.md").read_text(encoding="utf-8").split("\n## ")
    runbooks = {one.partition("\n")[0]: one for one in sections}
    assert list(runbooks) == sorted(ALERTS)
    listed = (DOCS / "monitoring.md").read_text(encoding="utf-8")
    for name, alert in ALERTS.items():
        annotations = alert["annotations"]
        assert annotations["runbook"] == f"docs/runbooks.md#{name.lower()}"
        link = f"[{name}](runbooks.md#{name.lower()})"
        assert f"| {link} | {alert['labels']['severity']} |" in listed
        assert annotations["summary"] in listed
        assert annotations["summary"] in runbooks[name]


def metrics_of_agents() -> set[str]:
    """Those that only an agent serves, by the headings of docs/metrics.md."""
    _, *sections = (DOCS / "metrics.md").read_text(encoding="utf-8").split("\n## ")
    own = (one for one in sections if one.partition("\n")[0].endswith(", of an agent"))
    return {name for one in own for name in re.findall(r"\n\| `(lading_\w+)", one)}


def test_the_page_names_what_has_no_data_without_the_metrics_of_agents() -> None:
    def is_of_agents(query: str) -> bool:
        used = {SUFFIXES.sub("", name) for name in METRIC.findall(query)}
        return bool(used) and used <= metrics_of_agents()

    page = (DOCS / "monitoring.md").read_text(encoding="utf-8")
    (named,) = re.findall(r"Otherwise the alerts (.*) and two panels have no data", page)
    alerts = {name for name, one in ALERTS.items() if is_of_agents(one["expr"])}
    assert set(re.split(", | and ", named)) == alerts
    panels = [one for one in PANELS.values() if is_of_agents(one["targets"][0]["expr"])]
    assert len(panels) == 2


def test_every_recorded_series_is_documented() -> None:
    page = (DOCS / "monitoring.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(lading:[\w:]+)`", page, flags=re.MULTILINE)) == set(RECORDS)


@pytest.mark.parametrize("panel", PANELS)
def test_a_panel_has_queries_and_a_place_of_its_own(panel: str) -> None:
    place = PANELS[panel]["gridPos"]
    assert place["x"] + place["w"] <= 24
    assert all(target["expr"] and target["legendFormat"] for target in PANELS[panel]["targets"])
    assert PANELS[panel]["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    labels = {name for one in PANELS[panel]["targets"] for name in _shown_labels(one)}
    grouped = {name for one in PANELS[panel]["targets"] for name in _grouped(one["expr"])}
    assert labels <= grouped
    covered = [cell for one in PANELS.values() for cell in _cells(one["gridPos"])]
    assert len(covered) == len(set(covered))


def _shown_labels(target: dict[str, str]) -> list[str]:
    return re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])


def _grouped(query: str) -> set[str]:
    """The labels that the result of a query has."""
    found = re.findall(r"\bby\s+\(([^)]*)\)", query)
    return {label for one in found for label in re.split(", *", one)}


def _cells(place: dict[str, int]) -> list[tuple[int, int]]:
    columns = range(place["x"], place["x"] + place["w"])
    return [(x, y) for x in columns for y in range(place["y"], place["y"] + place["h"])]


def test_the_dashboard_asks_which_prometheus_and_has_no_two_panels_of_one_title() -> None:
    (variable,) = DASHBOARD["templating"]["list"]
    assert (variable["name"], variable["query"]) == ("datasource", "prometheus")
    assert len(PANELS) == len(DASHBOARD["panels"])
