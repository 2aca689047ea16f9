"""`lading doctor` on a standalone cluster, on a node, and with neither."""

import asyncio
import json
import os
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.api.apiextensions import CUSTOM_RESOURCE_DEFINITIONS
from lading.api.core import NODES, SECRETS
from lading.api.definitions import OWNER_LABEL
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.cli.connection import Target
from lading.cli.doctor import archive, findings
from lading.kernel import references
from lading.kernel.objects import Resource
from lading.ports import kube
from lading.standalone import cluster, sample_images, sample_sets
from lading.standalone.cluster import ClusterOptions, StandaloneCluster
from lading.standalone.node import NodeDescription
from lading.wiring.features import DEFINITIONS
from tests.command import CommandResult, lading

CANARY = "canary-of-a-password"
IMAGE = f"127.0.0.1:1/app@sha256:{'0' * 64}"
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


async def test_everything_fits_80_columns(running: StandaloneCluster) -> None:
    image = f"127.0.0.1:1/{'long/' * 30}app@sha256:{'0' * 64}"
    await running.kube.create(PINNED_IMAGE_SETS, sample_sets.set_of("one", [image]))
    shown = await doctor(running, "-r", running.nodes[0].endpoint)
    assert shown.code == 1
    assert max(map(len, shown.output.splitlines())) <= 80
    assert "\x1b" not in shown.output, "no terminal, no colour"
    assert shown.output.splitlines()[-1].endswith("skipped.")


def unpacked(file: Path) -> dict[str, str]:
    content = {}
    with tarfile.open(file) as opened:
        for member in opened.getmembers():
            extracted = opened.extractfile(member)
            assert extracted is not None
            content[member.name] = extracted.read().decode()
    return content


async def test_the_archive_has_objects_and_no_secrets(
    running: StandaloneCluster, tmp_path: Path
) -> None:
    secret = {"metadata": {"name": "pull", "namespace": "default"}, "stringData": {"a": CANARY}}
    await running.kube.create(SECRETS, secret, namespace="default")
    image_set = sample_sets.set_of("named-set", [IMAGE])
    image_set["metadata"]["annotations"] = {"note": CANARY}
    image_set["metadata"]["labels"]["token"] = CANARY
    await running.kube.create(PINNED_IMAGE_SETS, image_set)
    file = tmp_path / "bundle.tgz"
    await running.kube.patch(NODES, "node-1", {"metadata": {"labels": {"token": CANARY}}})
    result = await doctor(running, "--bundle", str(file))
    assert f"Wrote {file} with findings.yaml" in result.errors
    assert file.stat().st_mode & 0o777 == 0o600
    content = unpacked(file)
    whole = "\n".join(content.values())
    assert "named-set" in content["lading-doctor/pinnedimagesets.yaml"]
    assert "node-1" in content["lading-doctor/nodes.yaml"]
    assert "do not report" in content["lading-doctor/findings.yaml"]
    assert CANARY not in whole
    admin_token = (running.api.kubeconfig.parent / "admin-token").read_text().strip()
    assert admin_token not in whole


async def test_the_archive_has_what_is_installed_by_whatever_owner(
    running: StandaloneCluster, tmp_path: Path
) -> None:
    """Also on OpenShift, where sets belong to another operator, and before an installation."""
    await running.kube.create(PINNED_IMAGE_SETS, sample_sets.set_of("named-set", [IMAGE]))
    foreign = {
        "metadata": {"labels": {OWNER_LABEL: None}},
        "spec": {"names": {"categories": []}},
    }
    for one in DEFINITIONS:
        if one.name == FOREIGN:
            await running.kube.patch(CUSTOM_RESOURCE_DEFINITIONS, FOREIGN, foreign)
        else:
            await running.kube.delete(CUSTOM_RESOURCE_DEFINITIONS, one.name)
    file = tmp_path / "bundle.tgz"
    await doctor(running, "--bundle", str(file))
    content = unpacked(file)
    assert "named-set" in content["lading-doctor/pinnedimagesets.yaml"]
    assert "node-1" in content["lading-doctor/nodes.yaml"]


async def test_the_archive_has_what_its_user_may_read(
    running: StandaloneCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    await report(running)
    each = KubeClient.each

    def forbidden(client: KubeClient, resource: Resource[Any], *more: Any) -> Any:
        if resource.kind in ("Node", "MachineConfigPool"):
            raise kube.Forbidden("you may not")
        return each(client, resource, *more)

    monkeypatch.setattr(KubeClient, "each", forbidden)
    target = Target(kubeconfig=running.api.kubeconfig, context="", namespace="")
    assert list(await archive.content(target, [])) == [
        "findings.yaml",
        "versions.yaml",
        "machineconfignodes.yaml",
    ]


async def test_what_a_check_found_is_in_the_archive_without_secrets(tmp_path: Path) -> None:
    """There is also an archive where no cluster answers."""
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        "{current-context: c, contexts: [{name: c, context: {cluster: c}}],"
        " clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]}"
    )
    target = Target(kubeconfig=kubeconfig, context="", namespace="")
    one = findings.failed("Registries", f"https://me:{CANARY}@quay.io refuses.", "log in")
    found = await archive.content(target, [one])
    assert list(found) == ["findings.yaml", "versions.yaml"]
    assert "quay.io refuses." in found["findings.yaml"]
    assert CANARY not in found["findings.yaml"]


async def test_an_old_kubelet_is_a_warning(running: StandaloneCluster) -> None:
    await report(running)
    old = {"status": {"nodeInfo": {"kubeletVersion": "v1.28.1"}}}
    await running.kube.patch(NODES, "node-1", old, subresource="status")
    reported, warned = (await found(running))["Nodes"]
    assert (reported["result"], warned["result"]) == ("ok", "warning")
    assert warned["nextStep"] == "upgrade the kubelet"


async def test_an_archive_without_a_name_is_refused_before_any_check() -> None:
    shown = await lading("doctor", "--bundle", "")
    assert (shown.code, shown.output) == (2, "")
    assert "the name of the file is empty" in shown.errors


@pytest.fixture
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "CONTAINER_RUNTIME_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("lading.cli.connection.DEFAULT_DATA", tmp_path)
    monkeypatch.setattr("lading.cli.image.endpoints.USUAL_SOCKETS", ())
    monkeypatch.setattr("lading.cli.image.endpoints.find.__kwdefaults__", {"sockets": ()})


@pytest.mark.usefixtures("nothing")
async def test_with_neither_it_says_what_it_skipped() -> None:
    shown = await lading("doctor")
    assert shown.code == 0
    assert "skipped  Cluster" in shown.output
    assert "skipped  Runtime" in shown.output
    assert "0 ok, 0 warning, 0 failed, 2 skipped." in shown.output


@pytest.mark.usefixtures("nothing")
async def test_a_cluster_that_is_named_and_not_there_fails(tmp_path: Path) -> None:
    shown = await lading("doctor", "--kubeconfig", str(tmp_path / "none"))
    assert shown.code == 1
    assert "failed   Cluster" in shown.output


@pytest.mark.usefixtures("nothing")
async def test_a_server_that_does_not_answer_fails(tmp_path: Path) -> None:
    options = ClusterOptions(data=tmp_path / "d", nodes=())
    async with cluster.open_cluster(options, SystemClock()) as opened:
        kubeconfig = opened.api.kubeconfig
    shown = await lading("doctor", "--kubeconfig", str(kubeconfig))
    assert shown.code == 1
    assert "failed   API server" in shown.output
    assert "Kinds" not in shown.output


@pytest.mark.usefixtures("nothing")
async def test_a_socket_that_is_not_there_or_not_a_runtime_fails(tmp_path: Path) -> None:
    shown = await lading("doctor", "-r", f"unix://{tmp_path}/none.sock")
    assert (shown.code, "There is no socket" in shown.output) == (1, True)
    os.mkfifo(tmp_path / "fifo")
    shown = await lading("doctor", "-r", f"unix://{tmp_path}/fifo")
    assert (shown.code, "failed   Runtime" in shown.output) == (1, True)
