"""`lading doctor` on a standalone cluster, on a node, and with neither."""

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from lading.adapters.clock import SystemClock
from lading.api.apiextensions import CUSTOM_RESOURCE_DEFINITIONS
from lading.api.core import NODES
from lading.api.definitions import OWNER_LABEL
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.embedded import cluster, sample_images, sample_sets
from lading.embedded.cluster import ClusterOptions, StandaloneCluster
from lading.embedded.node import NodeDescription
from lading.kernel import references
from tests.command import CommandResult, lading

FOREIGN = "pinnedimagesets.machineconfiguration.openshift.io"


@pytest.fixture
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[StandaloneCluster]:
    """Without its loops, so that a test decides what nodes report."""
    data = tmp_path_factory.mktemp("d")
    options = ClusterOptions(data=data, nodes=(NodeDescription(name="node-1"),))
    async with cluster.open_cluster(options, SystemClock()) as opened:
        yield opened


async def doctor(running: StandaloneCluster, *words: str) -> CommandResult:
    return await lading("doctor", "--kubeconfig", str(running.api.kubeconfig), *words)


async def found(running: StandaloneCluster, *words: str) -> dict[str, list[dict[str, Any]]]:
    """The findings by their check."""
    result = await doctor(running, "-o", "json", *words)
    by_check: dict[str, list[dict[str, Any]]] = {}
    for one in json.loads(result.output):
        by_check.setdefault(one["check"], []).append(one)
    failed = any(one["result"] == "failed" for many in by_check.values() for one in many)
    assert result.code == int(failed)
    return by_check


async def report(running: StandaloneCluster) -> None:
    body = {
        "apiVersion": MACHINE_CONFIG_NODES.api_version,
        "kind": MACHINE_CONFIG_NODES.kind,
        "metadata": {"name": "node-1"},
        "spec": {"node": {"name": "node-1"}, "pool": {"name": "worker"}},
    }
    await running.kube.create(MACHINE_CONFIG_NODES, body)


async def test_a_cluster_and_a_node_in_order(running: StandaloneCluster) -> None:
    await report(running)
    image = sample_images.image([{"file": b"content"}])
    tagged = references.parse(f"{running.registry_host}/app:v1")
    pushed = await sample_images.push(running.registries.client, tagged, image)
    await running.kube.create(PINNED_IMAGE_SETS, sample_sets.set_of("one", [str(pushed)]))
    checks = await found(running, "-r", running.nodes[0].endpoint)
    results = {name: {one["result"] for one in many} for name, many in checks.items()}
    assert results.pop("Processes") == {"skipped"}
    assert len(results.pop("Disk")) == 1, "how full this machine is, is not for the test to say"
    assert set().union(*results.values()) == {"ok"}
    assert results.keys() >= {"API server", "Clock", "Kinds", "Rights", "Nodes", "Kubelet limits"}
    assert results.keys() >= {"Registries", "Runtime", "Handlers"}
    (runtime,) = checks["Runtime"]
    assert running.nodes[0].endpoint in runtime["found"]


async def test_what_is_wrong_is_named_with_the_next_step(running: StandaloneCluster) -> None:
    digest = "sha256:" + "0" * 64
    images = [f"127.0.0.1:1/app@{digest}", f"{running.registry_host}/missing@{digest}"]
    await running.kube.create(PINNED_IMAGE_SETS, sample_sets.set_of("one", images))
    checks = await found(running)
    (silent,) = checks["Nodes"]
    assert (silent["result"], silent["found"]) == ("failed", "1 of 1 nodes do not report: node-1.")
    unreachable, missing = checks["Registries"]
    assert unreachable["found"].startswith("127.0.0.1:1: cannot connect to 127.0.0.1:1")
    assert missing["found"].endswith("is not in its registry.")
    for one in (silent, unreachable, missing):
        assert one["nextStep"]


async def test_kinds_of_other_owners_and_missing_ones(running: StandaloneCluster) -> None:
    label = {"metadata": {"labels": {OWNER_LABEL: None}}}
    await running.kube.patch(CUSTOM_RESOURCE_DEFINITIONS, FOREIGN, label)
    await running.kube.delete(CUSTOM_RESOURCE_DEFINITIONS, "images.longhorn.io")

    async def shown() -> list[tuple[str, str]]:
        kinds = (await found(running))["Kinds"]
        return [(one["result"], one["found"]) for one in kinds]

    async with asyncio.timeout(60):
        while len(kinds := await shown()) < 3:
            pass
    assert kinds[0] == ("failed", "Not installed: images.longhorn.io.")
    assert kinds[1][0] == "ok"
    assert kinds[2] == ("ok", f"{FOREIGN} belongs to another owner and is not changed.")


async def test_a_program_gets_a_line_for_each_finding_and_its_next_step(
    running: StandaloneCluster,
) -> None:
    host = "registry-with-a-long-name." * 4 + "test"
    image = f"{host}/app@sha256:{'0' * 64}"
    await running.kube.create(PINNED_IMAGE_SETS, sample_sets.set_of("one", [image]))
    shown = await doctor(running, "-r", running.nodes[0].endpoint)
    assert shown.code == 1
    lines = [line for line in shown.output.splitlines() if "Registries" in line]
    assert len(lines) == 1
    assert host in lines[0]
    assert "\x1b" not in shown.output, "no terminal, no colour"
    assert shown.output.splitlines()[-1].endswith("skipped.")


async def test_an_old_kubelet_is_a_warning(running: StandaloneCluster) -> None:
    await report(running)
    old = {"status": {"nodeInfo": {"kubeletVersion": "v1.28.1"}}}
    await running.kube.patch(NODES, "node-1", old, subresource="status")
    reported, warned = (await found(running))["Nodes"]
    assert (reported["result"], warned["result"]) == ("ok", "warning")
    assert warned["nextStep"] == "upgrade the kubelet"


@pytest.fixture
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "CONTAINER_RUNTIME_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("lading.cli.connection.DEFAULT_DATA", tmp_path)
    elsewhere = {"config": tmp_path / "crictl.yaml", "sockets": ()}
    find = "lading.cli.image.node_options.find_endpoint"
    monkeypatch.setattr(f"{find}.__kwdefaults__", elsewhere)


@pytest.mark.usefixtures("nothing")
async def test_with_neither_it_says_what_it_skipped() -> None:
    shown = await lading("doctor")
    assert shown.code == 0
    assert re.search(r"^skipped +Cluster", shown.output, re.MULTILINE)
    assert re.search(r"^skipped +Runtime", shown.output, re.MULTILINE)
    assert "0 ok, 0 warning, 0 failed, 2 skipped." in shown.output


@pytest.mark.usefixtures("nothing")
async def test_a_cluster_that_is_named_and_not_there_fails(tmp_path: Path) -> None:
    shown = await lading("doctor", "--kubeconfig", str(tmp_path / "none"))
    assert shown.code == 1
    assert re.search(r"^failed +Cluster", shown.output, re.MULTILINE)


@pytest.mark.usefixtures("nothing")
async def test_a_server_that_does_not_answer_fails(tmp_path: Path) -> None:
    options = ClusterOptions(data=tmp_path / "d", nodes=())
    async with cluster.open_cluster(options, SystemClock()) as opened:
        kubeconfig = opened.api.kubeconfig
    shown = await lading("doctor", "--kubeconfig", str(kubeconfig))
    assert shown.code == 1
    assert re.search(r"^failed +API server", shown.output, re.MULTILINE)
    assert "Kinds" not in shown.output


@pytest.mark.usefixtures("nothing")
async def test_a_socket_that_is_not_there_or_not_a_runtime_fails(tmp_path: Path) -> None:
    shown = await lading("doctor", "-r", f"unix://{tmp_path}/none.sock")
    assert (shown.code, "There is no socket" in shown.output) == (1, True)
    os.mkfifo(tmp_path / "fifo")
    shown = await lading("doctor", "-r", f"unix://{tmp_path}/fifo")
    assert shown.code == 1
    assert re.search(r"^failed +Runtime", shown.output, re.MULTILINE)
