"""The chart, rendered by Helm: what kustomize makes of `deploy/`, and what its values change."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.manifests import DEPLOY
from tests.real.helm import CHART, Helm
from tests.real.setup import binaries

pytestmark = pytest.mark.components("kube", "helm")
Document = dict[str, Any]
Key = tuple[str, str, str]
ONLY_IN_KUSTOMIZE = {("Namespace", "", "lading-system")}
ONLY_IN_CHART = {
    ("PodDisruptionBudget", "lading-system", "lading-controller"),
    *(
        (kind, "" if kind.startswith("Cluster") else "lading-system", "lading-crds")
        for kind in ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Job")
    ),
}


@pytest.fixture
def helm(tmp_path: Path) -> Helm:
    return Helm(folder=tmp_path)


def by_key(documents: list[Document]) -> dict[Key, Document]:
    return {
        (one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]): one
        for one in documents
    }


def kustomized(runtime: str) -> dict[Key, Document]:
    program = binaries.built("kubernetes", "kubectl")
    answer = subprocess.run(
        [program, "kustomize", DEPLOY / runtime], capture_output=True, text=True, check=True
    )
    return by_key(list(yaml.safe_load_all(answer.stdout)))


def normal(value: object) -> object:
    """Without what the chart writes in its own way: the order of named things, ports, Secrets."""
    if isinstance(value, dict):
        return {key: normal(one) for key, one in value.items()}
    if isinstance(value, list):
        kept = (one for one in value if not _is_written_differently(one))
        return sorted((normal(one) for one in kept), key=_in_order)
    return value


def _in_order(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _is_written_differently(one: object) -> bool:
    if isinstance(one, dict):
        name = str(one.get("name", ""))
        return name == "LADING_FEATURE_GATES" or name.startswith("pull-secrets")
    return str(one).startswith(("--pull-secrets=", "--kubelet-port=", "--metrics-host="))


def test_the_chart_has_no_fault(helm: Helm) -> None:
    assert "0 chart(s) failed" in helm.run("lint", CHART)


@pytest.mark.parametrize("runtime", ["containerd", "cri-o"])
def test_its_objects_are_those_of_kustomize(helm: Helm, runtime: str) -> None:
    made, wanted = by_key(helm.rendered(f"--set=runtime={runtime}")), kustomized(runtime)
    assert made.keys() - wanted.keys() == ONLY_IN_CHART
    assert wanted.keys() - made.keys() == ONLY_IN_KUSTOMIZE
    for key in made.keys() & wanted.keys():
        assert normal(made[key]) == normal(wanted[key]), key


def pool(name: str, runtime: str, **labels: str) -> Document:
    return {"name": name, "runtime": runtime, "nodeSelector": labels}


def test_each_node_of_a_pool_has_one_agent_with_the_socket_of_its_runtime(helm: Helm) -> None:
    pools = [
        pool("fast", "containerd", pool="fast"),
        pool("safe", "cri-o", pool="safe"),
        pool("small", "cri-o", pool="small", size="s"),
    ]
    values = helm.values("values.yaml", {"nodePools": pools})
    sets = [
        one["spec"] for one in helm.rendered(f"--values={values}") if one["kind"] == "DaemonSet"
    ]
    assert len({json.dumps(one["selector"]) for one in sets}) == len(pools)
    sockets = {"fast": "containerd.sock", "safe": "crio.sock", "small": "crio.sock", "none": ""}
    for name, socket in sockets.items():
        labels = {"kubernetes.io/os": "linux", "pool": name, "size": "s"}
        pods = [one["template"]["spec"] for one in sets]
        here = [one for one in pods if one["nodeSelector"].items() <= labels.items()]
        assert len(here) == bool(socket)
        for one in here:
            (container,) = one["containers"]
            endpoints = {each["name"]: each.get("value", "") for each in container["env"]}
            assert endpoints["CONTAINER_RUNTIME_ENDPOINT"].endswith(f"/{socket}")
            assert one.get("hostPID", False) is (socket == "crio.sock")


@pytest.mark.parametrize(
    "second",
    [{"pool": "fast"}, {"gpu": "yes"}, {"pool": "fast", "gpu": "yes"}],
    ids=["the same label", "another label", "a part of the first pool"],
)
def test_pools_that_may_share_a_node_are_refused(helm: Helm, second: dict[str, str]) -> None:
    pools = [pool("fast", "containerd", pool="fast"), pool("safe", "cri-o", **second)]
    values = helm.values("values.yaml", {"nodePools": pools})
    with pytest.raises(AssertionError, match="a node may belong to fast and to safe"):
        helm.rendered(f"--values={values}")


def test_two_pools_of_one_name_are_refused(helm: Helm) -> None:
    pools = [pool("fast", "containerd", pool="fast"), pool("fast", "cri-o", pool="safe")]
    values = helm.values("values.yaml", {"nodePools": pools})
    with pytest.raises(AssertionError, match="two pools have the name fast"):
        helm.rendered(f"--values={values}")


def test_a_label_without_a_value_keeps_pools_apart(helm: Helm) -> None:
    pools = [pool("fast", "containerd", gpu=""), pool("safe", "cri-o", gpu="none")]
    values = helm.values("values.yaml", {"nodePools": pools})
    sets = [one for one in helm.rendered(f"--values={values}") if one["kind"] == "DaemonSet"]
    assert len(sets) == len(pools)


def test_values_reach_the_pods(helm: Helm) -> None:
    digest = f"sha256:{'1' * 64}"
    given = {
        "image": {"repository": "registry.example.com/lading", "digest": digest},
        "imagePullSecrets": [{"name": "mine"}],
        "featureGates": {"PrePull": True},
        "controller": {"replicas": 1, "priorityClassName": "", "extraArgs": ["--log-level=debug"]},
        "agent": {"namespace": "agents", "pullSecrets": ["one.a", "two"]},
        "folders": {"containerd": {"runtime-socket": "/run/k3s/containerd"}},
        "rbac": {"userRoles": False, "bootImages": True, "pruner": True},
        "crds": {"install": False},
    }
    made = by_key(helm.rendered(f"--values={helm.values('values.yaml', given)}"))
    names = {name for _, _, name in made}
    assert not names & {"lading-crds", "lading-view"}
    assert names >= {"lading-pruner", "lading-controller-boot-images", "lading-prepull"}
    assert ("PodDisruptionBudget", "lading-system", "lading-controller") not in made
    level = made["Namespace", "", "agents"]["metadata"]["labels"]
    assert level == {"pod-security.kubernetes.io/enforce": "privileged"}
    pod = made["Deployment", "lading-system", "lading-controller"]["spec"]["template"]["spec"]
    assert "priorityClassName" not in pod
    assert pod["containers"][0]["args"][-1] == "--log-level=debug"
    agent = made["DaemonSet", "agents", "lading-agent"]["spec"]["template"]["spec"]
    (container,) = agent["containers"]
    assert container["image"] == f"registry.example.com/lading@{digest}"
    assert agent["imagePullSecrets"] == [{"name": "mine"}]
    variables = {one["name"]: one.get("value") for one in container["env"]}
    assert variables["LADING_FEATURE_GATES"] == "PrePull=true"
    socket = "unix:///host/run/k3s/containerd/containerd.sock"
    assert variables["CONTAINER_RUNTIME_ENDPOINT"] == socket
    assert "--pull-secrets=/etc/lading/pull-secrets/one.a" in container["args"]
    account = made["RoleBinding", "lading-system", "lading-agent"]["subjects"]
    assert account == [{"kind": "ServiceAccount", "name": "lading-agent", "namespace": "agents"}]
    policy = str(made["ValidatingAdmissionPolicy", "", "lading-agent-own-node"])
    assert "system:serviceaccount:agents:lading-agent" in policy


@pytest.mark.parametrize(
    "option",
    [
        "runtime=docker",
        "controler.replicas=1",
        "controller.replicas=-1",
        "controller.replicas=two",
        "controller.extraArgs=--log-level=debug",
        "featureGates.Pinned=true",
        "featureGates.PrePull=yes",
        "image.repository=registry.example.com/lading:0.1.0",
        "image.tag=a b",
        "image.digest=latest",
        "image.pullPolicy=always",
        "imagePullSecrets[0]=mine",
        "nodePools[0].name=gpu",
        "agent.namespace=Agents",
        "agent.pullSecrets[0]=../a",
        "agent.metricsPort=0",
        "agent.metricsPort=null",
        "agent.metricsHost=localhost",
        "agent.maxUnavailable=0%",
        "folders.cri-o.runtime-socket=run/crio",
        "folders.containerd.runtime-socket=null",
        "crds.install=maybe",
        "monitoring.interval=30",
    ],
)
def test_a_value_that_no_pod_could_run_with_is_refused(helm: Helm, option: str) -> None:
    name = option.partition("=")[0].partition("[")[0].split(".")
    with pytest.raises(AssertionError, match="values don't meet the specifications") as refused:
        helm.rendered(f"--set={option}")
    assert name[-1] in str(refused.value)


def test_values_that_work_are_accepted(helm: Helm) -> None:
    accepted = {
        "global": {"a": 1},
        "image": {"repository": "[fd00::1]:5000/lading", "tag": "0.1.0-rc.1"},
        "imagePullSecrets": [{"name": "my.secret"}],
        "nodePools": [pool("a" * 40, "cri-o", pool="gpu")],
        "agent": {"maxUnavailable": 1, "pullSecrets": [], "priorityClassName": None},
        "controller": {"resources": None, "nodeSelector": None, "tolerations": None},
        "networkPolicy": {"from": [{"podSelector": {}}]},
        "featureGates": None,
    }
    assert helm.rendered(f"--values={helm.values('values.yaml', accepted)}")
