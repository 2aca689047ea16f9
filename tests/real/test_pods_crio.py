"""The pods of the chart, as pods, on a node of CRI-O in a cluster that may have both runtimes."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.real import helm as helm_program
from tests.real import how_to, own_overlay
from tests.real.bed import cluster, sandbox, waiting
from tests.real.helm import CHART
from tests.real.pods_under_test import IN_NAMESPACE, Pods

pytestmark = pytest.mark.components("kube", "cri-o", "helm")
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


@pytest.fixture(scope="module")
def pods(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pods]:
    with cluster.cluster("cri-o") as bed:
        found = Pods(bed=bed, overlay=Path(), metrics_port=sandbox.free_port())
        helm = helm_program.on(bed.api_server, tmp_path_factory.mktemp("helm"))
        chosen = f"--values={helm.values('own.yaml', values(found))}"
        helm.run(
            *("install", "lading", CHART, IN_NAMESPACE, "--create-namespace"),
            *("--wait", "--timeout=4m", chosen),
        )
        yield found


def test_pods_of_the_chart_on_a_node_of_cri_o(pods: Pods, tmp_path: Path) -> None:
    image = pods.pin_new("pinned")
    _the_commands_of_the_page_give_each_runtime_its_agents(pods, tmp_path)
    assert pods.is_pinned(image)
    pods.kubectl("delete", "pinnedimageset/pinned")
    waiting.until(lambda: not pods.is_pinned(image), f"{image} is no longer pinned")


def _the_commands_of_the_page_give_each_runtime_its_agents(pods: Pods, folder: Path) -> None:
    """The cluster may have nodes of both runtimes; this one has a node of CRI-O."""
    pods.kubectl("label", f"node/{pods.bed.node_name}", "runtime=cri-o")
    (pools,) = POOLS.findall(PAGE.read_text(encoding="utf-8"))
    (folder / "values.yaml").write_text(pools)
    helm = helm_program.on(pods.bed.api_server, folder)
    socket = pods.bed.runtime.endpoint
    for step in (*how_to.commands(PAGE), *how_to.commands(PAGE, title="CRI-O")):
        placed = step.text.replace("deploy/chart", str(CHART))
        printed = helm.command(*shlex.split(placed.replace("unix:///run/crio/crio.sock", socket)))
        if "image ls" in step.text:
            assert "/pinned" in printed
    sets = pods.objects("daemonsets", IN_NAMESPACE)
    ready = {one["metadata"]["name"]: one["status"]["numberReady"] for one in sets}
    assert ready == {"lading-agent-general": 0, "lading-agent-virtual-machines": 1}


def test_an_image_that_the_kubelet_pulled_by_its_tag_is_pinned_by_its_digest(pods: Pods) -> None:
    (image,) = (name for name in pods.present() if "/team/lading@" in name)
    pods.pin("own", image)
    assert pods.is_pinned(image)
