"""The rules and the dashboard of `deploy/monitoring`, as objects of the operators and of the chart.

The rules are written once, in the form that Prometheus itself reads. docs/monitoring.md lists them.
"""

from pathlib import Path
from typing import Any

import yaml

from lading.api.rbac import NAMESPACE
from lading.wiring import marked_tables
from lading.wiring.marked_tables import Rows

FOLDER = Path("deploy/monitoring")
_CHART = Path("deploy/chart")
_PAGE = Path("docs/monitoring.md")
_DASHBOARD = "grafana-dashboard.json"
_HEADER = (
    "# Generated from the *-rules.yaml of deploy/monitoring by `make generate`; do not edit.\n"
)
_OBJECT = """\
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: lading
  namespace: {namespace}{labels}
spec:
  groups:
{groups}"""
_LABELS_OF_CHART = """
  {{- with .Values.monitoring.labels }}
  labels:
    {{- toYaml . | nindent 4 }}
  {{- end }}"""


def files(repository: Path) -> dict[Path, str]:
    groups = "".join(map(_groups, sorted((repository / FOLDER).glob("*-rules.yaml"))))
    plain = _OBJECT.format(namespace=NAMESPACE, labels="", groups=groups)
    # What Prometheus fills in is text for Helm.
    text = groups.replace("{{", "{{ `{{").replace("}}", "}}` }}")
    chart = _OBJECT.format(
        namespace="{{ .Release.Namespace }}", labels=_LABELS_OF_CHART, groups=text
    )
    return {
        _PAGE: _page((repository / _PAGE).read_text(encoding="utf-8"), yaml.safe_load(plain)),
        FOLDER / "prometheus-rule.yaml": _HEADER + plain,
        _CHART / "templates" / "prometheus-rule.yaml": (
            f"{{{{- if .Values.monitoring.enabled }}}}\n{_HEADER}{chart}{{{{- end }}}}\n"
        ),
        _CHART / _DASHBOARD: (repository / FOLDER / _DASHBOARD).read_text(encoding="utf-8"),
    }


def _groups(file: Path) -> str:
    rules = file.read_text(encoding="utf-8")
    groups = rules[rules.index("groups:\n") + len("groups:\n") :]
    return "".join(f"  {line}" for line in groups.splitlines(keepends=True))


def _page(text: str, rules: dict[str, Any]) -> str:
    found = [one for group in rules["spec"]["groups"] for one in group["rules"]]
    text = marked_tables.with_table(text, "alerts", _alerts(found))
    return marked_tables.with_table(text, "recorded series", _series(found))


def _alerts(rules: list[dict[str, Any]]) -> Rows:
    yield from marked_tables.head("alert", "severity", "for", "meaning")
    for one in rules:
        if "alert" in one:
            name, summary = one["alert"], one["annotations"]["summary"]
            link = f"[{name}](runbooks/{name}.md)"
            yield link, one["labels"]["severity"], one.get("for", "at once"), summary


def _series(rules: list[dict[str, Any]]) -> Rows:
    yield from marked_tables.head("series", "query")
    for one in rules:
        if "record" in one:
            yield f"`{one['record']}`", f"`{one['expr']}`"
