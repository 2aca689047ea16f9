"""The Helm chart in `deploy/chart`: what of it follows from the features and from `deploy/`.

Templates without such content (hook, network policy, monitors) are written by hand beside them.
The namespace is that of the release; names are the same in every installation, because the kinds
belong to the whole cluster and two installations in one would work against each other.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

import lading
from lading.api.rbac import AGENT_NAMESPACE, NAMESPACE, Right
from lading.loop.feature import Feature
from lading.wiring import chart_schema, chart_workloads, generate_rbac
from lading.wiring.features import definitions_of

CHART = Path("deploy/chart")
_TEMPLATES = CHART / "templates"
_BASE = Path("deploy/base")
_RELEASE_NAMESPACE = "{{ $.Release.Namespace }}"
_AGENT_NAMESPACE = '{{ include "lading.agentNamespace" $ }}'
_CHART = """\
{header}apiVersion: v2
name: lading
description: Keeps the right container images in the right places of a Kubernetes cluster.
type: application
version: {version}
appVersion: "{version}"
kubeVersion: ">=1.30.0-0"
"""
_HOOK_ROLE = """\
{{{{- define "lading.crds.rules" }}}}
{rules}{{{{- end }}}}
"""


def files(
    repository: Path, features: tuple[Feature, ...], manifests: Mapping[Path, str]
) -> dict[Path, str]:
    """The content of each file; the manifests are those that are generated for kustomize."""
    values = yaml.safe_load((repository / CHART / "values.yaml").read_text(encoding="utf-8"))
    header = generate_rbac.HEADER
    gates = tuple(one.gate for one in features if one.gate is not None)
    made = {
        CHART / "Chart.yaml": _CHART.format(header=header, version=lading.__version__),
        CHART / "values.schema.json": _json(chart_schema.schema(values, gates)),
        _TEMPLATES / "rbac.yaml": _all(
            manifests[_BASE / name] for name in ("rbac.yaml", "image-pruner-rbac.yaml")
        ),
        _TEMPLATES / "user-roles.yaml": _when(
            "rbac.userRoles", manifests[_BASE / "user-roles.yaml"]
        ),
        _TEMPLATES / "priority-class.yaml": _read(repository, _BASE / "priority-class.yaml"),
        _TEMPLATES / "policies.yaml": _all(
            manifests[_BASE / name] for name in ("agent-policy.yaml", "controller-policy.yaml")
        ),
        _TEMPLATES / "boot-images.yaml": _when(
            "rbac.bootImages",
            "---\n".join(
                manifests[Path("deploy", name)]
                for name in ("optional/boot-images/rbac.yaml", "policies/boot-images/policy.yaml")
            ),
        ),
        _TEMPLATES / "pruner.yaml": _when(
            "rbac.pruner", manifests[Path("deploy/optional/pruner/rbac.yaml")]
        ),
        _TEMPLATES / "_crds.tpl": _HOOK_ROLE.format(rules=_hook_rules(features)),
        _TEMPLATES / "controller.yaml": header
        + chart_workloads.controller(_document(repository, _BASE / "controller.yaml")),
    }
    agent = _document(repository, _BASE / "agent.yaml")
    for runtime in chart_workloads.RUNTIMES:
        overlay = _document(repository, Path("deploy", runtime, "agent.yaml"))
        made[_TEMPLATES / f"_agent-{runtime}.tpl"] = chart_workloads.agent(agent, overlay, runtime)
    return made


def _hook_rules(features: tuple[Feature, ...]) -> str:
    """Of the Job that installs the kinds: RBAC cannot restrict a create by name."""
    definitions = Right(
        group="apiextensions.k8s.io", resources=("customresourcedefinitions",), verbs=("create",)
    )
    names = tuple(sorted(one.name for one in definitions_of(features)))
    own = Right(
        group=definitions.group,
        resources=definitions.resources,
        names=names,
        verbs=("get", "patch"),
    )
    return generate_rbac.rules((definitions, own))


def _all(texts: Iterable[str]) -> str:
    return "---\n".join(_moved(one) for one in texts)


def _moved(text: str) -> str:
    """Into the namespaces of the release, which expressions of policies name too."""
    text = text.replace(AGENT_NAMESPACE, _AGENT_NAMESPACE)
    return text.replace(NAMESPACE, _RELEASE_NAMESPACE)


def _when(value: str, text: str) -> str:
    return f"{{{{- if $.Values.{value} }}}}\n{_moved(text)}{{{{- end }}}}\n"


def _json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2) + "\n"


def _read(repository: Path, path: Path) -> str:
    return (repository / path).read_text(encoding="utf-8")


def _document(repository: Path, path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(_read(repository, path))
    return found
