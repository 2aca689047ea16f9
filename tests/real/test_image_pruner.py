"""Pruning on a schedule on a real cluster: CronJob controller, kubelet and registries are real.

The controller has the rights of `deploy/` and no others. The Job is a pod of Lading's own image,
with the account and the roles that the controller gave it.
"""

import asyncio
import json
import os
import urllib.error
import urllib.request
import uuid
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from lading.adapters.kube.client import KubeClient
from tests.deploy.manifests import DEPLOY, NAMESPACE
from tests.e2e import waiting
from tests.e2e.cluster import ClusterUnderTest
from tests.e2e.image_pruner import (
    AGGRESSIVE,
    RUNS_SECONDS_MAX,
    ImagePrunerScenarios,
    OneMachineScenarios,
    RegistryUnderTest,
    new_install,
)
from tests.e2e.killed_jobs import KillableJobs, KilledJobScenarios
from tests.real import prometheus, under_test
from tests.real.bed import buildah, images, registry, s3, sandbox
from tests.real.bed import cluster as cluster_bed
from tests.real.bed.registry import Registry

pytestmark = [
    pytest.mark.components("kube", "containerd", "registry", "image"),
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(2 * waiting.TEST_SECONDS_MAX),
]
MANIFESTS = "application/vnd.oci.image.manifest.v1+json"
RULES = DEPLOY / "chart" / "monitoring" / "image-pruner-rules.yaml"
ALL_MAY_WRITE = 0
"""The umask of a registry with storage that a Job, which is another user, frees."""
STORAGE_FOLDER = "/registry"
KINDS = {
    "imagestreams.image.openshift.io": ("ImageStream", "Namespaced"),
    "images.image.openshift.io": ("Image", "Cluster"),
    "configs.imageregistry.operator.openshift.io": ("Config", "Cluster"),
}


class World(KillableJobs):
    namespace = NAMESPACE
    soon = "@every 10s"

    def __init__(
        self,
        *,
        cluster: ClusterUnderTest,
        bed: cluster_bed.Cluster,
        own_image: str,
        registries: tuple[RegistryUnderTest, ...],
    ) -> None:
        self.cluster = cluster
        self.bed = bed
        self.own_image = own_image
        self.registries = registries
        self.address = address_of(bed)

    @property
    def kube(self) -> KubeClient:
        return self.cluster.kube

    async def restart(self, *, kill: bool = False, gates: str = "") -> None:
        controller = self.cluster.controller
        if controller.is_running:
            await (controller.kill() if kill else controller.stop())
        options = [f"--pruner-image={self.own_image}"]
        await controller.start(*options, *([f"--feature-gates={gates}"] if gates else []))

    async def kill_job(self, registry: str) -> None:
        words = ("ps", "--quiet", f"--name=registry-{registry}")
        (container,) = self.bed.runtime.crictl(*words).split()
        self.bed.runtime.crictl("stop", "--timeout=0", container)

    async def kill_controller(self) -> None:
        await self.restart(kill=True)

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        return self.bed.api_server.kubectl(*arguments, stdin=stdin)

    def apply(self, body: dict[str, Any]) -> None:
        self.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(body))

    async def why_not(self) -> str:
        found = await super().why_not()
        return found + self.cluster.controller.log_tail()


def address_of(bed: cluster_bed.Cluster) -> str:
    """Of this machine, as the pods reach it."""
    return bed.api_server.url.removeprefix("https://").rpartition(":")[0]


async def pushed(real: Registry, name: str) -> str:
    repository, _, tag = name.partition(":")
    made = images.image(files={"cargo.txt": os.urandom(64)})
    images.push(made, host=real.host, repository=repository, tag=tag)
    return made.digest


async def has(real: Registry, repository: str, digest: str) -> bool:
    return await asyncio.to_thread(_has, real, repository, digest)


def _has(real: Registry, repository: str, digest: str) -> bool:
    url = f"{real.url}/v2/{repository}/manifests/{digest}"
    request = urllib.request.Request(url, method="HEAD", headers={"Accept": MANIFESTS})
    try:
        with urllib.request.urlopen(request, timeout=10):
            return True
    except urllib.error.HTTPError as error:
        assert error.code == 404
        return False


def claim(bed: cluster_bed.Cluster, real: Registry, name: str) -> None:
    """The storage of the registry as a volume that pods may claim and write to."""
    real.root.mkdir(exist_ok=True)
    real.root.chmod(0o777)
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "",
            "hostPath": {"path": str(real.root)},
            "claimRef": {"name": name, "namespace": NAMESPACE},
        },
    }
    claimed = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "",
            "volumeName": name,
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    for body in (volume, claimed):
        bed.api_server.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(body))


def on_files(bed: cluster_bed.Cluster, place: sandbox.Sandbox, version: str) -> RegistryUnderTest:
    address = address_of(bed)
    real = registry.start(place, version, address=address, name="pruned", umask=ALL_MAY_WRITE)
    name = f"v{version.replace('.', '-')}"
    claim(bed, real, name)
    return under_storage(real, name, {"url": f"file://{STORAGE_FOLDER}", "claimName": name})


def on_s3(bed: cluster_bed.Cluster, place: sandbox.Sandbox) -> RegistryUnderTest:
    """The credentials and the endpoint of the bucket are in a Secret."""
    bucket = s3.start(place, address=address_of(bed))
    real = registry.start(place, "3.1", address=address_of(bed), name="s3", storage=bucket.driver)
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "bucket", "namespace": NAMESPACE},
        "stringData": dict(bucket.environment),
    }
    bed.api_server.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(secret))
    return under_storage(real, "s3", {"url": f"s3://{bucket.name}", "secretName": "bucket"})


def under_storage(real: Registry, name: str, storage: dict[str, Any]) -> RegistryUnderTest:
    return RegistryUnderTest(
        name=name,
        host=real.host,
        storage=storage,
        push=partial(pushed, real),
        has=partial(has, real),
        root=real.root,
    )


@pytest.fixture(scope="module")
def bed() -> Iterator[cluster_bed.Cluster]:
    with cluster_bed.cluster() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def world(
    bed: cluster_bed.Cluster, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[World]:
    folder = tmp_path_factory.mktemp("installed")
    folder_of_bed = bed.runtime.sandbox_folder
    (place,) = (each for each in sandbox.OPEN if each.folder == folder_of_bed)
    own_image = images.push(buildah.image(), host=bed.registry.host, repository="lading", tag="own")
    async with under_test.on_cluster(bed, folder, f"--pruner-image={own_image}") as cluster:
        old, new = (on_files(bed, place, version) for version in registry.VERSIONS)
        registries = (old, on_s3(bed, place), new)
        made = World(cluster=cluster, bed=bed, own_image=own_image, registries=registries)
        await made.restart()
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def image_pruner(world: World) -> World:
    return world


@pytest.fixture
def tag() -> str:
    return uuid.uuid4().hex[:8]


class TestKubernetes(ImagePrunerScenarios, OneMachineScenarios, KilledJobScenarios):
    pass


def install_kinds(world: World) -> None:
    """ImageStream, Image and Config, as loosely as a test needs them."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    for name, (kind, scope) in KINDS.items():
        plural, _, group = name.partition(".")
        version = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": anything},
            "subresources": {"status": {}},
        }
        world.apply(
            {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": name},
                "spec": {
                    "group": group,
                    "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
                    "scope": scope,
                    "versions": [version],
                },
            }
        )
    world.kubectl("wait", "--for=condition=Established", "crd", *KINDS, "--timeout=90s")


def config(world: World, state: str) -> None:
    world.apply(
        {
            "apiVersion": "imageregistry.operator.openshift.io/v1",
            "kind": "Config",
            "metadata": {"name": "cluster"},
            "spec": {"managementState": state},
        }
    )


async def test_image_streams_and_the_flag_of_each_management_state(world: World, tag: str) -> None:
    """No Image can be a custom resource: its name has a colon. The history of the stream goes."""
    install_kinds(world)
    try:
        await world.clear()
        await world.make(schedule="@yearly", **AGGRESSIVE)
        for state, flag in (("Managed", "true"), ("Unmanaged", "false"), ("Removed", "false")):
            config(world, state)

            async def is_flagged(flag: str = flag) -> bool:
                found = await world.cron_job()
                return found is not None and f"--prune-registry={flag}" in str(found.spec)

            await world.until(is_flagged, f"{state} gives {flag}")
        digests = [f"sha256:{number}" + "0" * 63 for number in (1, 2)]
        stream(world, tag, digests)
        await world.use(f"stream-{tag}", f"registry.example.com/default/{tag}:latest")
        await world.edit(schedule=world.soon)
        limit = {"seconds_max": RUNS_SECONDS_MAX}
        await world.until_condition("Failed", "False", "Succeeded", **limit)
        found = json.loads(world.kubectl("get", "imagestream", tag, "--output=json"))
        (history,) = found["status"]["tags"]
        assert [one["image"] for one in history["items"]] == [digests[1]]
    finally:
        await world.clear()
        world.kubectl("delete", "crd", *KINDS)


def stream(world: World, name: str, digests: list[str]) -> None:
    """The newest comes first."""
    items = [
        {
            "created": "2020-01-01T00:00:00Z",
            "image": one,
            "dockerImageReference": f"registry.example.com/default/{name}@{one}",
        }
        for one in reversed(digests)
    ]
    body = {
        "apiVersion": "image.openshift.io/v1",
        "kind": "ImageStream",
        "metadata": {"name": name, "namespace": "default"},
        "status": {
            "dockerImageRepository": f"registry.example.com/default/{name}",
            "tags": [{"tag": "latest", "items": items}],
        },
    }
    world.apply({name: value for name, value in body.items() if name != "status"})
    patch = json.dumps({"status": body["status"]})
    world.kubectl("patch", "imagestream", name, "--subresource=status", "--type=merge", "-p", patch)


async def test_a_downgrade_leaves_everything_at_work_and_an_upgrade_adopts_it(
    world: World,
) -> None:
    await new_install(world)
    made = await world.cron_job()
    await world.restart(gates="ImagePruner=false")
    await world.edit(schedule="@weekly")
    assert made is not None
    found = await world.cron_job()
    assert found is not None
    assert found.spec["schedule"] == "0 0 * * *"
    await world.restart()

    async def is_adopted() -> bool:
        found = await world.cron_job()
        return found is not None and found.spec["schedule"] == "@weekly"

    await world.until(is_adopted, "the edit reached the CronJob")
    found = await world.cron_job()
    assert found is not None
    assert found.metadata.uid == made.metadata.uid


async def test_a_guard_is_named_and_prometheus_shows_two_alerts(
    world: World, tag: str, tmp_path: Path
) -> None:
    """No pod uses the registry: a guard refuses to delete, and the Job is not tried again."""
    await world.clear()
    world.kubectl("delete", "pods", "--all", "--namespace=default", "--force", "--grace-period=0")
    one = world.registries[-1]
    first, _ = [await one.push(f"team/guarded:{tag}") for _ in range(2)]
    await world.make(schedule=world.soon, registries=[one.entry], **AGGRESSIVE)
    limit = {"seconds_max": RUNS_SECONDS_MAX}
    failed = await world.until_condition("Failed", "True", "RefusedByGuard", **limit)
    assert "No reference of the clusters names" in failed.message
    assert await one.has("team/guarded", first)
    await world.edit(suspend=True)
    await world.until_condition("Scheduled", "False", "Suspended")
    target = world.cluster.controller.url.removeprefix("http://")
    async with prometheus.scraping(target, rules=RULES, folder=tmp_path) as running:
        wanted = {"ImagePruningFailed", "ImagePruningNotScheduled"}

        async def is_firing() -> bool:
            return wanted <= await running.firing()

        await world.until(is_firing, "Prometheus shows both alerts")
        assert await running.firing() == wanted
