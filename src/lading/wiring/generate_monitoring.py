"""The rules and the dashboard of `deploy/monitoring`, as objects of the operators and of the chart.

The rules are written once, in the form that Prometheus itself reads.
"""

from pathlib import Path

from lading.api.rbac import NAMESPACE

FOLDER = Path("deploy/monitoring")
_CHART = Path("deploy/chart")
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
