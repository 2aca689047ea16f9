"""What a pod of Lading may do on its node: the controller nothing, the agent what it needs."""

from typing import Any

import pytest
import yaml

from tests.deploy import manifests
from tests.deploy.manifests import DEPLOY, OVERLAYS, Document

HOST = ("hostNetwork", "hostPID", "hostIPC")
MOUNTS: dict[str, dict[str, bool]] = {
    "containerd": {
        "/run/containerd": True,
        "/etc/containerd": True,
        "/var/lib/containerd": True,
    },
    "cri-o": {
        "/run/crio": True,
        "/etc/crio": False,
        "/etc/containers": True,
        "/var/lib/containers": True,
    },
}
"""The folders of the host that an agent mounts, and whether it may only read them."""


def workload(kind: str) -> Document:
    (found,) = (one for one in manifests.base() if one["kind"] == kind)
    return found


def pod(kind: str) -> Document:
    found: Document = workload(kind)["spec"]["template"]["spec"]
    return found


def container(kind: str) -> Document:
    (found,) = pod(kind)["containers"]
    result: Document = found
    return result


@pytest.mark.parametrize("kind", ["Deployment", "DaemonSet"])
def test_no_container_is_privileged_or_writes_to_its_own_files(kind: str) -> None:
    context = container(kind)["securityContext"]
    assert "privileged" not in context
    assert context["allowPrivilegeEscalation"] is False
    assert context["readOnlyRootFilesystem"] is True
    assert context["capabilities"] == {"drop": ["ALL"]}
    profile = {**pod(kind).get("securityContext", {}), **context}["seccompProfile"]
    assert profile == {"type": "RuntimeDefault"}


def test_the_controller_is_not_root_and_uses_nothing_of_its_node() -> None:
    assert pod("Deployment")["securityContext"]["runAsNonRoot"] is True
    assert pod("Deployment")["securityContext"]["runAsUser"] > 0
    assert not {*HOST, "volumes"} & pod("Deployment").keys()


def test_an_agent_uses_the_network_of_its_node_and_only_cri_o_its_processes() -> None:
    assert {one for one in HOST if pod("DaemonSet").get(one)} == {"hostNetwork"}
    for name in OVERLAYS:
        (patch,) = manifests.overlay(name)
        changed = patch["spec"]["template"]["spec"]
        wanted = {"hostPID"} if name == "cri-o" else set()
        assert {one for one in HOST if changed.get(one)} == wanted
        assert all("securityContext" not in one for one in changed["containers"])


@pytest.mark.parametrize("name", OVERLAYS)
def test_an_agent_mounts_the_folders_of_its_runtime_where_the_host_has_them(name: str) -> None:
    (patch,) = manifests.overlay(name)
    spec = patch["spec"]["template"]["spec"]
    folders = {one["name"]: one["hostPath"]["path"] for one in spec["volumes"]}
    (agent,) = spec["containers"]
    mounted: dict[str, Any] = {one["name"]: one for one in agent["volumeMounts"]}
    assert folders.keys() == mounted.keys()
    for volume, folder in folders.items():
        assert mounted[volume]["mountPath"] == f"/host{folder}"
    read_only = {folders[one]: mounted[one].get("readOnly", False) for one in folders}
    assert read_only == MOUNTS[name]


def test_the_base_of_an_agent_mounts_only_its_own_state_of_the_host() -> None:
    volumes = pod("DaemonSet")["volumes"]
    assert [one["hostPath"]["path"] for one in volumes if "hostPath" in one] == ["/var/lib/lading"]


def test_probes_ask_the_port_that_is_served() -> None:
    for kind in ("Deployment", "DaemonSet"):
        agent = container(kind)
        (port,) = (one.partition("=")[2] for one in agent["args"] if "--metrics-port=" in one)
        named = {one["name"]: one["containerPort"] for one in agent["ports"]}
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            asked = agent[probe]["httpGet"]
            assert str(named.get(asked["port"], asked["port"])) == port
            assert asked["path"] == ("/readyz" if probe == "readinessProbe" else "/healthz")


def test_only_the_namespace_of_the_agents_allows_privileged_pods() -> None:
    labels = {
        one["metadata"]["name"]: one["metadata"]["labels"]
        for one in manifests.base()
        if one["kind"] == "Namespace"
    }
    enforce = "pod-security.kubernetes.io/enforce"
    assert labels == {
        "lading-system": {enforce: "restricted"},
        "lading-agents": {enforce: "privileged"},
    }
    assert workload("Deployment")["metadata"]["namespace"] == "lading-system"
    assert workload("DaemonSet")["metadata"]["namespace"] == "lading-agents"


def test_an_agent_looks_for_holder_pods_where_the_controller_makes_them() -> None:
    assert "--namespace=lading-system" in container("DaemonSet")["args"]


def test_live_progress_moves_agents_to_the_address_of_their_node_and_probes_follow() -> None:
    path = DEPLOY / "live-progress" / manifests.KUSTOMIZATION
    (patch,) = yaml.safe_load(path.read_text(encoding="utf-8"))["patches"]
    assert patch["target"] == {
        "kind": "DaemonSet",
        "name": workload("DaemonSet")["metadata"]["name"],
    }
    steps = yaml.safe_load(patch["patch"])
    added = {one["path"]: one["value"] for one in steps if one["op"] == "add"}
    at = "/spec/template/spec/containers/0"
    assert added[f"{at}/args/-"] == "--metrics-host=$(POD_IP)"
    assert added[f"{at}/env/-"]["valueFrom"] == {"fieldRef": {"fieldPath": "status.podIP"}}
    removed = {one["path"] for one in steps if one["op"] == "remove"}
    assert removed == {
        f"{at}/{probe}/httpGet/host"
        for probe in ("startupProbe", "livenessProbe", "readinessProbe")
    }
