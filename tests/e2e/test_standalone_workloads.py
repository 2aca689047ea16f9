"""DaemonSets, Jobs and CronJobs on a cluster in this process, with several embedded nodes."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from lading.adapters.clock import SystemClock
from lading.api.core import CONFIG_MAPS, EVENTS, SECRETS
from lading.embedded import cluster, sample_images
from lading.embedded.cluster import ClusterOptions, StandaloneCluster
from lading.embedded.node import NodeDescription
from lading.embedded.workloads.kinds import (
    CRON_JOBS,
    DAEMON_SETS,
    JOBS,
    NODES,
    PODS,
    Document,
    Job,
    Pod,
)
from lading.kernel import references
from lading.kernel.objects import Resource
from lading.ports import kube
from lading.ports.cri import ImageSpec
from lading.ports.kube import PatchType, Selection
from tests.e2e import private_registry, waiting, workload_objects
from tests.e2e.pod_pulls import PodPullScenarios, PodsUnderTest
from tests.e2e.private_registry import OWNER

pytestmark = pytest.mark.timeout(waiting.TEST_SECONDS_MAX)
NODE_COUNT = 3


@dataclass(frozen=True, slots=True)
class World:
    cluster: StandaloneCluster
    data: Path

    async def push(self, name: str) -> str:
        """A small image by its digest."""
        made = sample_images.image([{"file": sample_images.noise(name, 20_000)}])
        tag = references.parse(f"{self.cluster.registry_host}/{name}:v1")
        return str(await sample_images.push(self.cluster.registries.client, tag, made))

    async def apply(self, resource: Resource[object], body: Document) -> None:
        await self.cluster.kube.apply(resource, body, field_manager="test", force=True)

    async def delete(self, resource: Resource[object], name: str) -> None:
        with suppress(kube.NotFound):
            await self.cluster.kube.delete(resource, name, namespace="default")

    async def pods(self) -> tuple[Pod, ...]:
        return (await self.cluster.kube.page(PODS, Selection(namespace="default"))).items

    async def ready_pods(self, *, image: str = "") -> dict[str, Pod]:
        """By node, those with all containers ready, and one of this image if it is named."""
        return {
            pod.spec.node_name: pod
            for pod in await self.pods()
            if pod.status.container_statuses
            and all(one.ready for one in pod.status.container_statuses)
            and (not image or any(one.image == image for one in pod.spec.containers))
        }

    async def ungate(self, pod: Pod) -> None:
        patch = [
            {
                "op": "test",
                "path": "/spec/schedulingGates/0/name",
                "value": workload_objects.GATE,
            },
            {"op": "remove", "path": "/spec/schedulingGates/0"},
        ]
        await self.cluster.kube.patch(
            PODS, pod.key.name, patch, namespace="default", patch_type=PatchType.JSON
        )

    async def job(self, name: str) -> Job | None:
        try:
            return await self.cluster.kube.get(JOBS, name, namespace="default")
        except kube.NotFound:
            return None

    async def ended(self, name: str) -> Job:
        async def has_ended() -> bool:
            found = await self.job(name)
            return found is not None and found.is_finished

        await self.until(has_ended, f"job {name} ended")
        found = await self.job(name)
        assert found is not None
        return found

    async def pods_of(self, name: str) -> list[Pod]:
        return [pod for pod in await self.pods() if pod.metadata.labels.get("job-name") == name]

    async def reasons(self, pod: Pod) -> set[str]:
        events = await self.cluster.kube.page(EVENTS, Selection(namespace="default"))
        return {one.reason for one in events.items if one.regarding.uid == pod.metadata.uid}

    async def until(self, is_so: Callable[[], Awaitable[bool]], what: str) -> None:
        async def pods_now() -> str:
            return "\n".join(f"{pod.key}: {pod.status}" for pod in await self.pods())

        await waiting.until(is_so, what, why_not=pods_now)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def opened(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    options = ClusterOptions(
        data=tmp_path_factory.mktemp("wl"),
        nodes=tuple(NodeDescription(name=f"node-{one + 1}") for one in range(NODE_COUNT)),
    )
    async with cluster.open_cluster(options, SystemClock()) as made:
        running = asyncio.create_task(made.run())
        yield World(made, options.data)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@pytest_asyncio.fixture(loop_scope="session")
async def world(opened: World) -> AsyncIterator[World]:
    yield opened
    for resource in (DAEMON_SETS, CRON_JOBS, JOBS):
        for one in (await opened.cluster.kube.page(resource)).items:
            await opened.delete(resource, one.key.name)

    async def is_empty() -> bool:
        return not await opened.pods()

    await opened.until(is_empty, "all pods were gone")


@pytest.mark.asyncio(loop_scope="session")
class TestDaemonSets:
    async def test_a_gated_pod_waits_and_then_holds_its_images_on_each_node(
        self, world: World
    ) -> None:
        own, image = world.cluster.own_image, await world.push("held/first")
        template = workload_objects.holder_template(own, {"held": image}, gated=True)
        await world.apply(DAEMON_SETS, workload_objects.daemon_set(template))

        async def all_are_made() -> bool:
            return len(await world.pods()) == NODE_COUNT

        await world.until(all_are_made, "each node had a pod")
        assert all(not pod.spec.node_name for pod in await world.pods())
        first, *others = sorted(await world.pods(), key=lambda pod: pod.key)
        await world.ungate(first)

        async def one_is_ready() -> bool:
            return len(await world.ready_pods()) == 1

        await world.until(one_is_ready, "the pod without a gate was ready")
        for pod in others:
            await world.ungate(pod)

        async def is_counted() -> bool:
            found = await world.cluster.kube.get(DAEMON_SETS, "prepull", namespace="default")
            counts = (found.status.number_ready, found.status.updated_number_scheduled)
            return counts == (NODE_COUNT, NODE_COUNT)

        await world.until(is_counted, "the DaemonSet counted all nodes")
        (pod, *_) = (await world.ready_pods()).values()
        assert pod.status.phase == "Running"
        reasons = await world.reasons(pod)
        assert {"Scheduled", "Pulling", "Pulled"} <= reasons

    async def test_the_node_lists_the_image_and_a_container_uses_it(self, world: World) -> None:
        own, image = world.cluster.own_image, await world.push("held/listed")
        template = workload_objects.holder_template(own, {"held": image})
        await world.apply(DAEMON_SETS, workload_objects.daemon_set(template))

        async def is_listed() -> bool:
            node = await world.cluster.kube.get(NODES, "node-1")
            return any(image in one.names for one in node.status.images)

        await world.until(is_listed, "node.status.images named the image")
        runtime = world.cluster.nodes[0].runtime.cri

        async def is_used() -> bool:
            return any(one.image.image == image for one in await runtime.containers())

        await world.until(is_used, "a container used the image")
        await world.delete(DAEMON_SETS, "prepull")

        async def is_free() -> bool:
            return not await world.pods() and not await is_used()

        await world.until(is_free, "without the pod nothing used the image")

    async def test_a_container_is_not_ready_while_its_image_is_gone(self, world: World) -> None:
        own, image = world.cluster.own_image, await world.push("held/removed")
        template = workload_objects.holder_template(own, {"held": image})
        await world.apply(DAEMON_SETS, workload_objects.daemon_set(template))

        async def is_held() -> bool:
            return len(await world.ready_pods()) == NODE_COUNT

        await world.until(is_held, "the image was held")
        pod = (await world.ready_pods())["node-1"]
        condition = {"type": "lading.dev/ImagesPresent", "status": "True"}
        await world.cluster.kube.patch(
            PODS,
            pod.key.name,
            {"status": {"conditions": [condition]}},
            namespace="default",
            patch_type=PatchType.STRATEGIC,
            subresource="status",
        )
        await world.cluster.nodes[0].runtime.cri.remove(ImageSpec(image=image))

        async def is_noticed() -> bool:
            return "node-1" not in await world.ready_pods()

        await world.until(is_noticed, "the container was not ready")
        found = await world.cluster.kube.get(PODS, pod.key.name, namespace="default")
        types = {one.type: str(one.status) for one in found.status.conditions}
        assert types["Ready"] == "False"
        assert types["lading.dev/ImagesPresent"] == "True", "another writer's condition stays"

    async def test_a_private_image_is_pulled_with_the_pull_secret_of_the_pod(
        self, world: World, tmp_path: Path
    ) -> None:
        async with private_registry.opened(tmp_path) as private:
            image = await private.push("held/private")
            entry = {"username": OWNER.username, "password": OWNER.password}
            content = json.dumps({"auths": {private.host: entry}})
            secret = {
                "metadata": {"name": "regcred"},
                "type": "kubernetes.io/dockerconfigjson",
                "stringData": {".dockerconfigjson": content},
            }
            own = world.cluster.own_image
            template = workload_objects.holder_template(own, {"held": image})
            template["spec"]["imagePullSecrets"] = [{"name": "regcred"}]
            await world.apply(DAEMON_SETS, workload_objects.daemon_set(template))

            async def is_refused() -> bool:
                return any(
                    one.state.waiting and "authorization failed" in one.state.waiting.message
                    for pod in await world.pods()
                    for one in pod.status.container_statuses
                )

            await world.until(is_refused, "without the Secret the registry refused the pull")
            await world.cluster.kube.create(SECRETS, secret, namespace="default")

            async def is_held() -> bool:
                return len(await world.ready_pods(image=image)) == NODE_COUNT

            await world.until(is_held, "the image was held")


@pytest.mark.asyncio(loop_scope="session")
class TestJobs:
    async def test_a_job_runs_a_lading_command_against_this_cluster(self, world: World) -> None:
        body = workload_objects.job(world.cluster.own_image, "get", "nodes")
        await world.apply(JOBS, body)
        job = await world.ended("job")
        assert job.has("Complete")
        assert (job.status.succeeded, job.status.active) == (1, 0)
        (pod,) = await world.pods_of("job")
        assert pod.status.phase == "Succeeded"
        (status,) = pod.status.container_statuses
        assert status.state.terminated is not None
        assert status.state.terminated.exit_code == 0
        assert "node-1" in status.state.terminated.message

    async def test_the_exit_code_and_the_last_output_of_a_command_are_reported(
        self, world: World
    ) -> None:
        body = workload_objects.job(world.cluster.own_image, "no-such-command", backoffLimit=0)
        await world.apply(JOBS, body)
        job = await world.ended("job")
        assert job.has("Failed")
        (failed,) = [one for one in job.status.conditions if one.type == "Failed"]
        assert failed.reason == "BackoffLimitExceeded"
        (pod,) = await world.pods_of("job")
        (status,) = pod.status.container_statuses
        assert status.state.terminated is not None
        assert status.state.terminated.exit_code == 2
        assert "no-such-command" in status.state.terminated.message

    async def test_a_job_reads_its_secret_and_its_config_map(self, world: World) -> None:
        body = workload_objects.job(world.cluster.own_image, "apply", "-f", "/etc/made/one.json")
        pod = body["spec"]["template"]["spec"]
        pod["volumes"] = [{"name": "made", "configMap": {"name": "given"}}]
        (container,) = pod["containers"]
        container["volumeMounts"] = [{"name": "made", "mountPath": "/etc/made"}]
        container["envFrom"] = [{"secretRef": {"name": "extra"}}]
        await world.apply(JOBS, body)

        async def is_waiting(message: str) -> bool:
            return any(
                one.state.waiting is not None and one.state.waiting.message == message
                for pod in await world.pods_of("job")
                for one in pod.status.container_statuses
            )

        await world.until(
            lambda: is_waiting('secret "extra" not found'), "the pod named the Secret"
        )
        secret = {"metadata": {"name": "extra"}, "stringData": {"EXTRA": "1"}}
        await world.cluster.kube.create(SECRETS, secret, namespace="default")
        await world.until(lambda: is_waiting('configmap "given" not found'), "then the ConfigMap")
        made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made"}}
        given = {"metadata": {"name": "given"}, "data": {"one.json": json.dumps(made)}}
        await world.cluster.kube.create(CONFIG_MAPS, given, namespace="default")
        job = await world.ended("job")
        (pod_of_job,) = await world.pods_of("job")
        assert job.has("Complete"), pod_of_job.status
        await world.cluster.kube.get(CONFIG_MAPS, "made", namespace="default")
        volumes = world.data / "nodes" / pod_of_job.spec.node_name / "pods"
        assert (volumes / pod_of_job.metadata.uid).is_dir()
        await world.delete(JOBS, "job")

        async def no_volume_is_left() -> bool:
            return not list(volumes.iterdir())

        await world.until(no_volume_is_left, "the volumes of the pod were gone")

    async def test_a_deleted_job_ends_its_process(self, world: World, tmp_path: Path) -> None:
        own = world.cluster.own_image
        await world.apply(
            JOBS, workload_objects.job(own, "up", f"--state-dir={tmp_path / 'inner'}")
        )

        async def is_running() -> bool:
            return (tmp_path / "inner" / "kubeconfig").exists()

        await world.until(is_running, "the command worked")
        (pod,) = await world.pods_of("job")
        await world.delete(JOBS, "job")

        async def is_leaving() -> bool:
            """The pod is there as long as its process, and no longer."""
            found = await world.pods_of("job")
            assert found or not processes_with(str(tmp_path)), "the pod went before its process"
            return not found or bool(found[0].metadata.deletion_timestamp)

        await world.until(is_leaving, f"{pod.key} was being deleted")

        async def is_gone() -> bool:
            return not await world.pods()

        await world.until(is_gone, "the pod was gone")
        await world.until(_no_process_with(str(tmp_path)), "its process was gone")


def _no_process_with(word: str) -> Callable[[], Awaitable[bool]]:
    async def is_so() -> bool:
        return not processes_with(word)

    return is_so


def processes_with(word: str) -> list[int]:
    """The processes of this machine with such an argument."""
    found = []
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            if folder.name.isdigit() and word.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found


@pytest_asyncio.fixture(loop_scope="session")
async def pods(opened: World) -> AsyncIterator[PodsUnderTest]:
    under_test = PodsUnderTest(kube=opened.cluster.kube, registry_host=opened.cluster.registry_host)
    yield under_test
    await under_test.clear()


class TestPodPulls(PodPullScenarios):
    pass
