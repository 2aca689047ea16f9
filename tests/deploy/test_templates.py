"""The templates of the chart, read without Helm."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from lading.prepull import holder
from lading.prepull.types import PrePullSettings
from lading.pruning.operator.types import POD_LABELS
from lading.wiring.features import DEFINITIONS
from tests.deploy import manifests, templates
from tests.deploy.manifests import SHARED, Document
from tests.deploy.templates import CHART, TEMPLATES

HOOK = '{{- include "lading.crds.hook" '


def leaves(values: dict[str, Any], path: str = "") -> Iterator[str]:
    for key, value in values.items():
        if isinstance(value, dict) and value and key not in ("resources", "nodeSelector"):
            yield from leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}"


def test_every_value_is_used_and_no_template_uses_another() -> None:
    chart_values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    folders = chart_values.pop("folders")
    used = set().union(*map(templates.values, TEMPLATES)) - {"agent", "image", "folders"}
    assert used == set(leaves(chart_values))
    mounted = set(re.findall(r'index \$folders "([\w-]+)"', text("agents.yaml")))
    assert mounted == {name for one in folders.values() for name in one}


def test_the_chart_installs_every_manifest_that_it_shares_with_kustomize() -> None:
    files = SHARED.rglob("*.yaml")
    shared = {
        str(one.relative_to(SHARED).with_suffix("")) for one in files if one.stem != "kustomization"
    }
    assert set(re.findall(r'"([a-z-]+/[a-z-]+)"', text("manifests.yaml"))) == shared


def pod_of(document: Document) -> Document:
    found: Document = document["spec"]["template"]["spec"]
    return found


def names(listed: list[Document]) -> set[str]:
    return {one["name"] for one in listed if not one["name"].startswith("pull-secrets")}


def static(pod: Document) -> Document:
    """What no value changes; `make real` compares everything."""
    (container,) = pod["containers"]
    probes = ("startupProbe", "livenessProbe", "readinessProbe")
    options = {one.partition("=")[0] for one in container["args"]}
    return {
        **{key: pod.get(key) for key in ("serviceAccountName", "hostNetwork", "dnsPolicy")},
        "pod": pod.get("securityContext"),
        "container": container["securityContext"],
        "probes": [{**container[one]["httpGet"], "port": ""} for one in probes],
        "options": options - {"--metrics-host", "--kubelet-port"},
        "variables": names(container["env"]) - {"LADING_FEATURE_GATES"},
        "volumes": names(pod.get("volumes", [])),
        "mounts": names(container.get("volumeMounts", [])),
    }


@pytest.mark.parametrize("component", ["controller", "agent"])
def test_pods_of_the_chart_are_those_of_the_manifests(component: str) -> None:
    """The template of the agents has the parts of every runtime, each under its condition."""
    (wanted,) = (
        one
        for one in manifests.base()
        if one["metadata"]["name"] == f"lading-{component}"
        and one["kind"] in ("Deployment", "DaemonSet")
    )
    overlays = manifests.OVERLAYS if component == "agent" else ()
    expected = static(pod_of(wanted))
    for patch in (pod_of(one) for name in overlays for one in manifests.overlay(name)):
        (container,) = patch["containers"]
        expected["volumes"] |= names(patch["volumes"])
        expected["mounts"] |= names(container["volumeMounts"])
        expected["variables"] |= names(container["env"])
    (made,) = templates.documents({"agent": "agents.yaml"}.get(component, "controller.yaml"))
    assert static(pod_of(made)) == expected


def text(name: str) -> str:
    return (CHART / "templates" / name).read_text(encoding="utf-8")


def test_the_hook_may_create_any_definition_and_change_only_those_of_lading() -> None:
    definitions = {
        "apiGroups": ["apiextensions.k8s.io"],
        "resources": ["customresourcedefinitions"],
    }
    (role,) = (one for one in hook() if one["kind"] == "ClusterRole")
    assert role["rules"] == [
        {**definitions, "verbs": ["create"]},
        {
            **definitions,
            "resourceNames": sorted(one.name for one in DEFINITIONS),
            "verbs": ["get", "patch"],
        },
    ]


def hook() -> list[Document]:
    return templates.documents("crds-job.yaml")


def test_the_hook_runs_before_an_installation_and_an_upgrade_with_its_rights() -> None:
    weights = [int(one) for one in re.findall(rf"{re.escape(HOOK)}(-?\d+) ", text("crds-job.yaml"))]
    by_kind = dict(zip((one["kind"] for one in hook()), weights, strict=True))
    assert by_kind["ServiceAccount"] <= by_kind["ClusterRoleBinding"] < by_kind["Job"]
    assert by_kind["ClusterRole"] < by_kind["ClusterRoleBinding"]
    metadata, _ = templates.documents("_helpers.tpl")
    assert metadata["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    policy = metadata["annotations"]["helm.sh/hook-delete-policy"]
    assert policy == "before-hook-creation,hook-succeeded"
    (binding,) = (one for one in hook() if one["kind"] == "ClusterRoleBinding")
    (account,) = binding["subjects"]
    assert binding["roleRef"]["name"] == account["name"] == metadata["name"]


def test_the_hook_applies_definitions_in_a_restricted_pod_where_the_controller_may_run() -> None:
    (job,) = (one for one in hook() if one["kind"] == "Job")
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["args"] == ["crds", "--apply"]
    (controller,) = (one for one in manifests.base() if one["kind"] == "Deployment")
    other = controller["spec"]["template"]["spec"]
    assert pod["securityContext"] == other["securityContext"]
    assert container["securityContext"] == other["containers"][0]["securityContext"]
    placed = {"nodeSelector", "tolerations", "imagePullSecrets"}
    assert placed <= pod.keys()
    assert {f"controller.{one}" for one in ("nodeSelector", "tolerations", "resources")} <= (
        templates.values(CHART / "templates" / "crds-job.yaml")
    )


def controller_labels() -> Document:
    (found,) = (one for one in manifests.base() if one["kind"] == "Deployment")
    labels: Document = found["spec"]["template"]["metadata"]["labels"]
    return labels


def test_policies_select_the_pods_that_they_are_about() -> None:
    (budget,) = templates.documents("pod-disruption-budget.yaml")
    assert budget["spec"]["selector"]["matchLabels"] == controller_labels()
    controller, held, pruner = templates.documents("network-policy.yaml")
    assert controller["spec"]["podSelector"]["matchLabels"] == controller_labels()
    assert controller["spec"]["policyTypes"] == ["Ingress"]
    assert [one["ports"] for one in controller["spec"]["ingress"]] == [[{"port": "metrics"}]]
    images = holder.daemon_set(
        ("registry.example.com/a:1",), (), PrePullSettings(), namespace="a", hold_image="lading"
    )
    labels = images["spec"]["template"]["metadata"]["labels"]
    assert held["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
    assert held["spec"] == {
        "podSelector": held["spec"]["podSelector"],
        "policyTypes": ["Ingress", "Egress"],
    }
    assert pruner["spec"]["podSelector"]["matchLabels"] == POD_LABELS
    assert pruner["spec"]["policyTypes"] == ["Ingress"]


def test_a_monitor_scrapes_the_port_of_the_metrics_and_agents_only_off_loopback() -> None:
    _, made = templates.documents("_helpers.tpl")
    name, component = "app.kubernetes.io/name", "app.kubernetes.io/component"
    assert made["spec"]["selector"]["matchLabels"] == {name: "lading", component: "component"}
    (endpoint,) = made["spec"]["podMetricsEndpoints"]
    assert endpoint["port"] == "metrics"
    monitors = text("pod-monitor.yaml")
    on_loopback, agents = monitors.index('not (hasPrefix "127."'), monitors.index('"agent"')
    assert monitors.index('"controller"') < on_loopback < agents


def test_the_namespace_of_agents_allows_privileged_pods() -> None:
    (namespace,) = templates.documents("agent-namespace.yaml")
    assert namespace["metadata"]["labels"] == {"pod-security.kubernetes.io/enforce": "privileged"}


@pytest.mark.parametrize(
    ("name", "condition"),
    [
        ("agent-namespace.yaml", "and .Values.agent.namespace (ne"),
        ("crds-job.yaml", ".Values.crds.install }}"),
        ("network-policy.yaml", ".Values.networkPolicy.enabled }}"),
        ("pod-disruption-budget.yaml", "and .Values.podDisruptionBudget.enabled (gt"),
        ("pod-monitor.yaml", ".Values.monitoring.enabled }}"),
        ("prometheus-rule.yaml", ".Values.monitoring.enabled }}"),
    ],
)
def test_a_file_of_the_chart_is_rendered_under_its_condition_only(
    name: str, condition: str
) -> None:
    assert text(name).startswith(f"{{{{- if {condition}")
    assert text(name).endswith("{{- end }}\n")
