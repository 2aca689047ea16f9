"""Pods that name a tag, after the registry is gone for good: kubelet 1.36 on both runtimes."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command import lading
from tests.real import under_test
from tests.real.bed import cluster as cluster_bed
from tests.real.bed import images, restart, sandbox

pytestmark = pytest.mark.components("kube", "containerd", "cri-o")

WITHIN = "--timeout=90s"


@pytest.fixture(params=["containerd", "cri-o"])
def bed(request: pytest.FixtureRequest) -> Iterator[cluster_bed.Cluster]:
    with cluster_bed.cluster(request.param) as running:
        yield running


async def test_pods_by_tag_and_by_digest_run_without_a_registry(
    bed: cluster_bed.Cluster, tmp_path: Path
) -> None:
    image = images.busybox("sleep", "3600", extra_files={"content": os.urandom(64)})
    tag = images.push(image, host=bed.registry.host, repository="shop/web", tag="v1")
    async with under_test.on_cluster(bed, tmp_path) as cluster:
        await lading("pin", "create", "shop", tag, "--apply", f"--kubeconfig={bed.kubeconfig}")
        await cluster.until_done("shop")
        (node,) = cluster.nodes
        (place,) = (one for one in sandbox.OPEN if one.folder == bed.runtime.sandbox_folder)
        with restart.killed(place, "registry-3.1"):
            await node.agent.kill()
            await node.agent.start()
            restart.restart(place, bed.runtime.pid)
            run(bed, "by-tag", tag)
            run(bed, "by-digest", f"{tag.rpartition(':')[0]}@{image.digest}")
            for name in ("by-tag", "by-digest"):
                bed.api_server.kubectl("wait", "--for=condition=Ready", f"pod/{name}", WITHIN)
            await cluster.until_done("shop")


def run(bed: cluster_bed.Cluster, name: str, image: str) -> None:
    container = {"name": "main", "image": image, "imagePullPolicy": "IfNotPresent"}
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0}
    spec["tolerations"] = [{"operator": "Exists"}]
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
    bed.api_server.kubectl("create", "-f", "-", stdin=json.dumps(body))
