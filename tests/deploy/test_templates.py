"""The templates of the chart that are written by hand, read without Helm."""

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
from tests.deploy.manifests import Document
from tests.deploy.templates import AGENT_NAMESPACE, CHART, RELEASE_NAMESPACE, TEMPLATES

HOOK = '{{- include "lading.crds.hook" '


def leaves(values: dict[str, Any], path: str = "") -> Iterator[str]:
    for key, value in values.items():
        if isinstance(value, dict) and value and key not in ("resources", "nodeSelector"):
            yield from leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}"


def test_every_value_is_used_and_no_template_uses_another() -> None:
    known = set(leaves(yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))))
    used = set().union(*map(templates.values, TEMPLATES)) - {"image"}
    helpers = (CHART / "templates" / "_helpers.tpl").read_text(encoding="utf-8")
    used |= {f"image.{one}" for one in re.findall(r"\$image\.(\w+)", helpers)}
    assert used == known


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("rbac.yaml", ("base/rbac.yaml", "base/image-pruner-rbac.yaml")),
        ("user-roles.yaml", ("base/user-roles.yaml",)),
        ("priority-class.yaml", ("base/priority-class.yaml",)),
        ("policies.yaml", ("base/agent-policy.yaml", "base/controller-policy.yaml")),
        (
            "boot-images.yaml",
            ("optional/boot-images/rbac.yaml", "policies/boot-images/policy.yaml"),
        ),
        ("pruner.yaml", ("optional/pruner/rbac.yaml",)),
    ],
)
def test_what_the_chart_installs_is_what_kustomize_installs(
    name: str, files: tuple[str, ...]
) -> None:
    made = yaml.safe_dump(templates.documents(name))
    made = made.replace(RELEASE_NAMESPACE, manifests.NAMESPACE)
    made = made.replace(AGENT_NAMESPACE, manifests.AGENT_NAMESPACE)
    texts = ((manifests.DEPLOY / file).read_text(encoding="utf-8") for file in files)
    wanted = [one for each in texts for one in yaml.safe_load_all(each)]
    assert yaml.safe_load(made) == wanted


def test_the_account_of_the_agents_is_in_their_namespace_wherever_it_is_named() -> None:
    found = [*templates.documents("rbac.yaml"), *templates.documents("boot-images.yaml")]
    accounts = [
        one
        for document in found
        for one in (document["metadata"], *document.get("subjects", ()))
        if document["kind"] == "ServiceAccount" or one is not document["metadata"]
    ]
    assert {(one["name"], one["namespace"]) for one in accounts} == {
        ("lading-agent", AGENT_NAMESPACE),
        ("lading-controller", RELEASE_NAMESPACE),
        ("lading-image-pruner", RELEASE_NAMESPACE),
    }
    of_agents = [
        one for one in templates.documents("policies.yaml") if "agent" in one["metadata"]["name"]
    ]
    assert AGENT_NAMESPACE in str(of_agents)
    for one in of_agents:
        if one["kind"] == "ValidatingAdmissionPolicy":
            assert f"serviceaccount:{AGENT_NAMESPACE}:lading-agent" in str(one)


def text(name: str) -> str:
    return (CHART / "templates" / name).read_text(encoding="utf-8")


def test_the_hook_may_create_any_definition_and_change_only_those_of_lading() -> None:
    definitions = {
        "apiGroups": ["apiextensions.k8s.io"],
        "resources": ["customresourcedefinitions"],
    }
    names = sorted(one.name for one in DEFINITIONS)
    (rules,) = templates.documents("_crds.tpl")
    assert list(rules) == [
        {**definitions, "verbs": ["create"]},
        {**definitions, "resourceNames": names, "verbs": ["get", "patch"]},
    ]
    (role,) = (one for one in hook() if one["kind"] == "ClusterRole")
    assert role["rules"] is None, "only the rules that are included"
    assert text("crds-job.yaml").count('{{- include "lading.crds.rules" . }}') == 1


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


def test_a_monitor_of_the_chart_is_that_of_the_manifests() -> None:
    _, made = templates.documents("_helpers.tpl")
    wanted = yaml.safe_load((manifests.DEPLOY / "monitoring" / "pod-monitor.yaml").read_text())
    selected = wanted["spec"]["selector"]["matchLabels"]
    component = "app.kubernetes.io/component"
    assert made["spec"]["selector"]["matchLabels"] == {**selected, component: "component"}
    (endpoint,), (own,) = (one["spec"]["podMetricsEndpoints"] for one in (wanted, made))
    assert {**own, "interval": endpoint["interval"]} == endpoint
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
        ("boot-images.yaml", "$.Values.rbac.bootImages }}"),
        ("crds-job.yaml", ".Values.crds.install }}"),
        ("network-policy.yaml", ".Values.networkPolicy.enabled }}"),
        ("pod-disruption-budget.yaml", "and .Values.podDisruptionBudget.enabled (gt"),
        ("pod-monitor.yaml", ".Values.monitoring.enabled }}"),
        ("prometheus-rule.yaml", ".Values.monitoring.enabled }}"),
        ("pruner.yaml", "$.Values.rbac.pruner }}"),
        ("user-roles.yaml", "$.Values.rbac.userRoles }}"),
    ],
)
def test_a_file_of_the_chart_is_rendered_under_its_condition_only(
    name: str, condition: str
) -> None:
    assert text(name).startswith(f"{{{{- if {condition}")
    assert text(name).endswith("{{- end }}\n")
