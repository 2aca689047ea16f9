"""The pods of `deploy/cri-o` and of the chart, as pods, on a node of CRI-O.

One test in three steps, on one cluster: kustomize installs, the chart takes over, and pools of the
chart make it a cluster that may have both runtimes.
"""

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.manifests import DEPLOY, KUSTOMIZATION
from tests.real import helm as helm_program
from tests.real import how_to, own_overlay, pods_under_test
from tests.real.bed import cluster, waiting
from tests.real.helm import CHART
from tests.real.pods_under_test import IN_NAMESPACE, OF_AGENTS, WITHIN, Pods

pytestmark = pytest.mark.components("kube", "cri-o", "helm", "image")
PAGE = how_to.FOLDER / "container-runtimes.md"
POOLS = re.compile(r"```yaml\n(# values.yaml\n.*?)```", re.DOTALL)


def values(pods: Pods) -> dict[str, Any]:
    """Ports are those that are free on this machine.

    The agent has no priority: its OOM score needs CAP_SYS_RESOURCE on CRI-O, which a test machine
    may lack.
    """
    repository, _ = own_overlay.push(pods.bed.registry)
    return {
        "image": {"repository": repository, "tag": own_overlay.TAG},
        "runtime": "cri-o",
        "agent": {
            "metricsPort": pods.metrics_port,
            "kubeletPort": pods.bed.kubelet_port,
            "priorityClassName": "",
        },
    }


@pytest.fixture
def pods(tmp_path: Path) -> Iterator[Pods]:
    """Installed with kustomize, as docs/install.md says for CRI-O."""
    with cluster.cluster("cri-o") as bed:
        found = pods_under_test.prepare(bed, tmp_path)
        _change_for_cri_o(tmp_path / KUSTOMIZATION)
        found.kubectl("apply", "--server-side", "-f", str(DEPLOY / "crds"))
        found.install()
        yield found


def _change_for_cri_o(file: Path) -> None:
    """The kubelet shall pull the image by its tag, and the agent has no priority, as above."""
    overlay = yaml.safe_load(file.read_text())
    overlay["resources"] = [os.path.relpath(DEPLOY / "cri-o", file.parent)]
    (image,) = overlay["images"]
    del image["digest"]
    image["newTag"] = own_overlay.TAG
    no_priority = [{"op": "remove", "path": "/spec/template/spec/priorityClassName"}]
    overlay["patches"].append(
        {"target": {"kind": "DaemonSet"}, "patch": yaml.safe_dump(no_priority)}
    )
    file.write_text(yaml.safe_dump(overlay))


def test_pods_on_a_node_of_cri_o(pods: Pods, tmp_path: Path) -> None:
    image = pods.pin_new("pinned")
    assert pods.is_pinned(image)
    _an_image_that_the_kubelet_pulled_by_its_tag_is_pinned_by_its_digest(pods)
    _the_chart_takes_over(pods, tmp_path)
    _the_commands_of_the_page_give_each_runtime_its_agents(pods, tmp_path)
    assert pods.is_pinned(image)
    pods.kubectl("delete", "pinnedimageset/pinned")
    waiting.until(lambda: not pods.is_pinned(image), f"{image} is no longer pinned")


def _the_chart_takes_over(pods: Pods, folder: Path) -> None:
    """Its pods are waited for after the next step, which replaces them."""
    helm = helm_program.on(pods.bed.api_server, folder)
    chosen = f"--values={helm.values('own.yaml', values(pods))}"
    helm.run("install", "lading", CHART, IN_NAMESPACE, "--take-ownership", chosen)


def _the_commands_of_the_page_give_each_runtime_its_agents(pods: Pods, folder: Path) -> None:
    """The cluster may have nodes of both runtimes; this one has a node of CRI-O."""
    pods.kubectl("label", f"node/{pods.bed.node_name}", "runtime=cri-o")
    (pools,) = POOLS.findall(PAGE.read_text(encoding="utf-8"))
    (folder / "values.yaml").write_text(pools)
    helm = helm_program.on(pods.bed.api_server, folder)
    socket = pods.bed.runtime.endpoint
    for step in how_to.commands(PAGE):
        helm.command(*shlex.split(step.text.replace("deploy/chart", str(CHART))))
    _wait_for_the_leader(pods)
    for step in how_to.commands(PAGE, title="CRI-O"):
        placed = step.text.replace("unix:///run/crio/crio.sock", socket)
        printed = helm.command(*shlex.split(placed))
        if "image ls" in step.text:
            assert "/pinned" in printed
    # `helm upgrade --wait` allows one node without a Ready agent, and this cluster has no more.
    chosen = {"lading-agent-general": 0, "lading-agent-virtual-machines": 1}
    waiting.until(lambda: _ready_agents(pods) == chosen, f"agents are ready: {chosen}")


def _wait_for_the_leader(pods: Pods) -> None:
    """Other pods took the place of the first controllers; `lading doctor` needs one that leads."""
    pods.kubectl("rollout", "status", "deployment/lading-controller", IN_NAMESPACE, WITHIN)

    def leads() -> bool:
        running = pods.objects("pods", IN_NAMESPACE, "-l=app.kubernetes.io/component=controller")
        kept = {one["metadata"]["name"] for one in running if not _is_ending(one)}
        return pods.leader() in kept

    waiting.until(leads, "a controller of the chart leads")


def _is_ending(pod: Any) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def _ready_agents(pods: Pods) -> dict[str, int]:
    sets = pods.objects("daemonsets", OF_AGENTS)
    return {one["metadata"]["name"]: one["status"].get("numberReady", 0) for one in sets}


def _an_image_that_the_kubelet_pulled_by_its_tag_is_pinned_by_its_digest(pods: Pods) -> None:
    (image,) = (name for name in pods.present() if "/team/lading@" in name)
    pods.pin("own", image)
    assert pods.is_pinned(image)
