"""`lading pin plan` against a standalone cluster: it knows free space, and what would not fit."""

import json
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from aiohttp import web
from aiohttp.test_utils import TestServer

from lading.adapters.clock import SystemClock
from lading.api.core import NODES as CLUSTER_NODES
from lading.api.core import RUNTIME_CLASSES
from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.cli.pin import sets
from lading.embedded import cluster, sample_images
from lading.embedded.cluster import ClusterOptions, StandaloneCluster
from lading.embedded.node import NodeDescription
from lading.kernel import references
from lading.pinned_images import membership
from lading.pinned_images.cluster import apply, plan
from lading.pinned_images.cluster.types import CreatePool
from lading.ports.cri import ImageSpec
from tests.command import CommandResult, lading
from tests.e2e import programs

MIB = 1024 * 1024
NODES = (
    NodeDescription(name="large", capacity_bytes=100 * MIB),
    NodeDescription(name="small", capacity_bytes=10 * MIB),
)
IMAGE_BYTES = 5 * MIB
EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture
async def running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[StandaloneCluster]:
    """Without its loops: nothing is pulled behind the test's back, and it makes the pool itself."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    options = ClusterOptions(data=tmp_path / "data", nodes=NODES)
    async with cluster.open_cluster(options, SystemClock()) as opened:
        pool = plan.DEFAULT_POOLS[membership.WORKER]
        await apply.apply(
            CreatePool(name=membership.WORKER, spec=pool, because="a test"), opened.kube
        )
        yield opened


async def push(running: StandaloneCluster, name: str) -> str:
    reference = references.parse(f"{running.registry_host}/{name}:v1")
    sample = sample_images.image([{"file": os.urandom(IMAGE_BYTES)}])
    return str(await sample_images.push(running.registries.client, reference, sample))


def set_file(
    folder: Path, name: str, image: str, *, role: str = membership.WORKER, **more: object
) -> Path:
    document = {
        "apiVersion": PINNED_IMAGE_SETS.api_version,
        "kind": PINNED_IMAGE_SETS.kind,
        "metadata": {"name": name, "labels": {group.ROLE_LABEL: role}},
        "spec": {"pinnedImages": [{"name": image, **more}]},
    }
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump(document))
    return file


async def planned(running: StandaloneCluster, folder: Path, image: str) -> list[list[str]]:
    """What a process prints: the lines of the plan, each as its cells. One node always refuses."""
    file = set_file(folder, "mine", image)
    printed = await programs.run(
        "pin", "plan", f"--filename={file}", f"--kubeconfig={running.api.kubeconfig}",
        exit_code=1,
    )  # fmt: skip
    return [[cell.strip() for cell in line.split("  ") if cell] for line in printed.splitlines()]


async def test_a_plan_tells_what_stays_free_and_what_does_not_fit(
    running: StandaloneCluster, tmp_path: Path
) -> None:
    image = await push(running, "app")
    header, large, small, refusal = await planned(running, tmp_path, image)
    assert header[-2:] == ["FREE NOW", "FREE AFTER"]
    assert (large[0], large[3], large[-2:]) == ("large", "1", ["100 MiB", "90 MiB"])
    assert (small[0], small[3], small[-2:]) == ("small", "0", ["10 MiB", "10 MiB"])
    assert refusal[0].startswith(
        "small refuses mine: the images to pull need 10 MiB of disk space (5 MiB compressed)"
    )


async def test_a_plan_knows_what_the_runtime_of_a_node_stores_already(
    running: StandaloneCluster, tmp_path: Path
) -> None:
    stored, wanted = await push(running, "stored"), await push(running, "wanted")
    await running.nodes[0].runtime.cri.pull(ImageSpec(image=stored))
    _, large, *_ = await planned(running, tmp_path, wanted)
    assert (large[0], large[-2:]) == ("large", ["95 MiB", "85 MiB"])


@pytest.mark.parametrize("with_another", [False, True])
async def test_a_set_that_no_node_takes_is_named(
    running: StandaloneCluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    with_another: bool,
) -> None:
    """Otherwise a plan with nothing to pull would look as if everything were there."""
    monkeypatch.setattr(sets, "HOST_STATE_FOLDER", tmp_path / "host")
    image = f"{running.registry_host}/app@sha256:{'0' * 64}"
    files = [set_file(tmp_path, "lost", image, role="no-such-pool")]
    files += [set_file(tmp_path, "taken", image)] if with_another else []
    named = [f"--filename={file}" for file in files]
    result = await lading("pin", "plan", *named, f"--kubeconfig={running.api.kubeconfig}")
    assert result.code == 1
    assert "no node would take the set lost: compare its labels" in result.errors
    assert "the set taken" not in result.errors
    assert ("large" in result.output) == with_another


@pytest.mark.parametrize(
    ("gates", "to_pull", "refusal"),
    [
        ("", "0", "the feature gate RuntimeClassInImageCriApi is off on this node"),
        ("RuntimeClassInImageCriApi=true", "1", ""),
    ],
    ids=["off", "on"],
)
async def test_a_plan_has_the_gate_of_runtime_classes_that_the_agents_have(
    running: StandaloneCluster, tmp_path: Path, gates: str, to_pull: str, refusal: str
) -> None:
    await running.kube.create(RUNTIME_CLASSES, {"metadata": {"name": "vm"}, "handler": "vm"})
    file = set_file(tmp_path, "mine", await push(running, "app"), runtimeClassNames=["vm"])
    result = await lading(
        "pin", "plan", f"--filename={file}", f"--kubeconfig={running.api.kubeconfig}",
        f"--feature-gates={gates}",
    )  # fmt: skip
    assert result.code == 1
    (large,) = [line for line in result.output.splitlines() if line.startswith("large  ")]
    assert large.split()[3] == to_pull
    assert refusal in result.output


async def test_a_registry_is_asked_once_for_all_nodes(
    running: StandaloneCluster, tmp_path: Path
) -> None:
    asked: list[str] = []

    async def without_any(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response(status=404)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", without_any)
    async with TestServer(app) as server:
        digest = "sha256:" + "0" * 64
        file = set_file(tmp_path, "mine", f"{server.host}:{server.port}/app@{digest}")
        where = f"--kubeconfig={running.api.kubeconfig}"
        result = await lading("pin", "plan", f"--filename={file}", where)
    assert result.code == 1
    assert "wanted on large, small" in result.output
    assert asked.count(f"/v2/app/manifests/{digest}") == 1


@pytest.mark.parametrize(("status", "reason"), [(404, "ImageNotFound"), (401, "Unauthorized")])
async def test_a_plan_names_the_image_and_why_it_cannot_be_pulled(
    running: StandaloneCluster, tmp_path: Path, status: int, reason: str
) -> None:
    async def refuse(request: web.Request) -> web.Response:
        return web.Response(status=status, headers={"WWW-Authenticate": "Basic realm=r"})

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", refuse)
    async with TestServer(app) as server:
        image = f"{server.host}:{server.port}/app@sha256:{'0' * 64}"
        found = await plan_of(running, set_file(tmp_path, "mine", image))
    assert found.table.code == found.data.code == 1
    assert f"{reason}: {image}: " in found.table.output
    for node in json.loads(found.data.output):
        (failure,) = node["unavailable"]
        assert (failure["image"], failure["reason"]) == (image, reason)


async def test_a_plan_fails_when_a_registry_is_down(
    running: StandaloneCluster, tmp_path: Path
) -> None:
    image = f"127.0.0.1:1/app@sha256:{'0' * 64}"
    found = await plan_of(running, set_file(tmp_path, "mine", image))
    assert found.table.code == found.data.code == 1
    assert f"Unavailable: {image}: cannot connect" in found.table.output
    assert json.loads(found.data.output)[0]["unavailable"][0]["reason"] == "Unavailable"


async def test_a_plan_fails_when_the_free_space_is_unknown(
    running: StandaloneCluster, tmp_path: Path
) -> None:
    labels = {"node-role.kubernetes.io/worker": "", "without": "kubelet"}
    await running.kube.create(CLUSTER_NODES, {"metadata": {"name": "dumb", "labels": labels}})
    file = set_file(tmp_path, "mine", await push(running, "app"))
    content = yaml.safe_load(file.read_text())
    content["spec"]["nodeSelector"] = {"matchLabels": {"without": "kubelet"}}
    file.write_text(yaml.safe_dump(content))
    found = await plan_of(running, file)
    assert found.table.code == found.data.code == 1
    assert "the free space of dumb is unknown: " in found.table.output
    assert "the free space of 1 node is unknown" in found.table.errors
    (node,) = json.loads(found.data.output)
    assert node["freeBytes"] is None
    assert node["freeUnknown"]


async def test_a_new_pool_is_planned_with_its_set(
    running: StandaloneCluster, tmp_path: Path
) -> None:
    labels = {"metadata": {"labels": {"infra": "yes"}}}
    await running.kube.patch(CLUSTER_NODES, "large", labels)
    example = list(yaml.safe_load_all((EXAMPLES / "03-custom-pool/pool.yaml").read_text()))
    (image_set,) = [one for one in example if one["kind"] == PINNED_IMAGE_SETS.kind]
    image_set["spec"]["pinnedImages"] = [{"name": await push(running, "router")}]
    file = tmp_path / "both.yaml"
    file.write_text(yaml.safe_dump_all(example))
    found = await plan_of(running, file)
    assert (found.table.code, found.table.errors) == (0, "")
    (node,) = json.loads(found.data.output)
    assert (node["node"], node["sets"]) == ("large", ["infra-only"])


async def test_a_plan_tells_what_the_file_adds_from_what_is_there(
    running: StandaloneCluster, tmp_path: Path
) -> None:
    existing, added = await push(running, "existing"), await push(running, "added")
    before = yaml.safe_load(set_file(tmp_path, "before", existing).read_text())
    await running.kube.create(PINNED_IMAGE_SETS, before)
    entry = {"spec": {"pinnedImageSets": [{"name": "before"}]}}
    await running.kube.patch(MACHINE_CONFIG_POOLS, membership.WORKER, entry)
    found = await plan_of(running, set_file(tmp_path, "mine", added))
    large = next(one for one in json.loads(found.data.output) if one["node"] == "large")
    assert large["added"] == [{"image": added}]
    assert large["before"] == large["toPullOfBefore"] == [{"image": existing}]
    assert large["toPull"] == sorted(
        [{"image": added}, {"image": existing}], key=lambda one: one["image"]
    )
    assert (
        "1 of the 2 images to pull is already needed by sets of the cluster, on large"
        in found.table.output
    )


@dataclass(frozen=True)
class Planned:
    table: CommandResult
    data: CommandResult


async def plan_of(running: StandaloneCluster, file: Path) -> Planned:
    words = ("pin", "plan", f"--filename={file}", f"--kubeconfig={running.api.kubeconfig}")
    return Planned(table=await lading(*words), data=await lading(*words, "-o", "json"))
