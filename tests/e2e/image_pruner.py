"""The test plan of the design of image pruning, on any cluster. Knows no server."""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from lading.adapters.kube.client import KubeClient
from lading.api.core import CONFIG_MAPS, CRON_JOBS, JOBS, PODS, SECRETS, CronJob
from lading.api.imageregistry import IMAGE_PRUNERS, ImagePrunerStatus, StoredImagePruner
from lading.api.rbac import CLUSTER_ROLE_BINDINGS, SERVICE_ACCOUNTS
from lading.kernel import conditions
from lading.kernel.conditions import Condition
from lading.kernel.objects import Object, Resource
from lading.ports import kube
from lading.ports.kube import Selection
from lading.pruning.engine.inventory.observe_storage import data_path
from lading.pruning.operator import objects, status
from lading.pruning.operator.types import DECISION_NAME, OBJECT_NAME
from tests.e2e import guarded_registry, waiting

T = TypeVar("T", bound=Object)
AGGRESSIVE = {"keepTagRevisions": 0, "keepYoungerThan": "0s"}
RUNS_SECONDS_MAX = 240.0
"""A run starts within a minute, and pulls its image first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryUnderTest:
    name: str
    host: str
    storage: dict[str, Any]
    """As in the spec."""
    push: Callable[[str], Awaitable[str]]
    """An image that no other shares, to `NAME:TAG`; its digest."""
    has: Callable[[str, str], Awaitable[bool]]
    """Whether the repository has the digest."""
    root: Path
    """Where its data is."""

    @property
    def entry(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "url": f"http://{self.host}",
            "storage": self.storage,
            "trash": {"disabled": True},
        }


class ImagePrunerUnderTest(ABC):
    namespace: str
    registries: tuple[RegistryUnderTest, ...]
    address: str = "127.0.0.1"
    """Of this machine, as pods reach it."""
    soon: str = "* * * * *"
    """A schedule that starts a Job soon."""

    @property
    @abstractmethod
    def kube(self) -> KubeClient:
        """As administrator; valid until the next `restart`."""

    @abstractmethod
    async def restart(self, *, kill: bool = False) -> None:
        """The controller."""

    async def pruner(self) -> StoredImagePruner | None:
        return await self._found(IMAGE_PRUNERS, "cluster")

    async def cron_job(self) -> CronJob | None:
        return await self._found(CRON_JOBS, OBJECT_NAME, self.namespace)

    async def status(self) -> ImagePrunerStatus:
        found = await self.pruner()
        return status.status_of(found) if found is not None else ImagePrunerStatus()

    async def condition(self, kind: str) -> Condition | None:
        return conditions.find((await self.status()).conditions, kind)

    async def _found(self, resource: Resource[T], name: str, namespace: str = "") -> T | None:
        try:
            return await self.kube.get(resource, name, namespace=namespace)
        except kube.NotFound:
            return None

    async def make(self, **spec: Any) -> None:
        body = {
            "apiVersion": IMAGE_PRUNERS.api_version,
            "kind": IMAGE_PRUNERS.kind,
            "metadata": {"name": "cluster"},
            "spec": spec,
        }

        async def is_made() -> bool:
            try:
                await self.kube.create(IMAGE_PRUNERS, body)
            except kube.AlreadyExists:  # the controller of a new cluster was quicker
                await self._delete(IMAGE_PRUNERS, "cluster")
                return False
            return True

        await self.until(is_made, "the ImagePruner is made")

    async def edit(self, **spec: Any) -> None:
        await self.kube.patch(IMAGE_PRUNERS, "cluster", {"spec": spec})

    async def use(self, name: str, image: str) -> None:
        """A pod that waits, so that nothing is pulled."""
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {
                "schedulingGates": [{"name": "example.com/never"}],
                "containers": [{"name": "main", "image": image}],
            },
        }
        await self.kube.create(PODS, body, namespace="default")

    async def put(self, resource: Resource[Any], name: str, **content: Any) -> None:
        """A Secret or a ConfigMap in the namespace of Lading."""
        body = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": name},
            **content,
        }
        await self.kube.create(resource, body, namespace=self.namespace)

    async def clear(self) -> None:
        """Without an ImagePruner, and what it made."""

        async def is_cleared() -> bool:
            await self._delete(IMAGE_PRUNERS, "cluster")
            return await self.is_gone()

        await self.until(is_cleared, "everything went with the ImagePruner")

    async def forget_decision(self) -> None:
        """As if the pruner had never been here, for the next controller."""
        await self._delete(CONFIG_MAPS, DECISION_NAME, self.namespace)

    async def _delete(self, resource: Resource[Any], name: str, namespace: str = "") -> None:
        with contextlib.suppress(kube.NotFound):
            await self.kube.delete(resource, name, namespace=namespace)

    async def is_gone(self) -> bool:
        jobs = await self.jobs()
        account = await self._found(SERVICE_ACCOUNTS, OBJECT_NAME, self.namespace)
        binding = await self._found(CLUSTER_ROLE_BINDINGS, OBJECT_NAME)
        left = (await self.cron_job(), account, binding)
        return not jobs and all(one is None for one in left)

    async def jobs(self) -> tuple[Any, ...]:
        selection = Selection(namespace=self.namespace, label_selector=objects.SELECTOR)
        return (await self.kube.page(JOBS, selection)).items

    async def until(self, is_so: Callable[[], Awaitable[bool]], what: str, **limits: float) -> None:
        await waiting.until(is_so, what, why_not=self.why_not, **limits)

    async def until_condition(
        self, kind: str, status: str, reason: str, **limits: float
    ) -> Condition:
        async def is_so() -> bool:
            found = await self.condition(kind)
            return found is not None and (found.status, found.reason) == (status, reason)

        await self.until(is_so, f"{kind} is {status}, {reason}", **limits)
        found = await self.condition(kind)
        assert found is not None
        return found

    async def why_not(self) -> str:
        selection = Selection(namespace=self.namespace, label_selector=objects.SELECTOR)
        pods = (await self.kube.page(PODS, selection)).items
        return f"{await self.pruner()}\n{await self.jobs()}\n{[one.status for one in pods]}"


async def new_install(cluster: ImagePrunerUnderTest) -> None:
    await cluster.clear()
    await cluster.forget_decision()
    await cluster.restart()
    await cluster.until_condition("Available", "True", "Ready")


@pytest.mark.asyncio(loop_scope="session")
class ImagePrunerScenarios:
    async def test_a_new_install_is_pruned_daily(self, image_pruner: ImagePrunerUnderTest) -> None:
        await new_install(image_pruner)
        await image_pruner.until_condition("Scheduled", "True", "Scheduled")
        await image_pruner.until_condition("Failed", "Unknown", "NotRun")
        made = await image_pruner.cron_job()
        assert made is not None
        assert made.spec["schedule"] == "0 0 * * *"
        assert made.spec["suspend"] is False
        assert made.spec["concurrencyPolicy"] == "Forbid"
        assert (await image_pruner.status()).next_schedule_time.endswith("T00:00:00Z")

    async def test_edits_suspension_and_deletion_reach_the_objects(
        self, image_pruner: ImagePrunerUnderTest
    ) -> None:
        await new_install(image_pruner)
        made = await image_pruner.cron_job()
        await image_pruner.edit(suspend=True, keepTagRevisions=7)
        await image_pruner.until_condition("Scheduled", "False", "Suspended")
        found = await image_pruner.cron_job()
        assert found is not None
        assert "--keep-tag-revisions=7" in str(found.spec)
        await image_pruner.edit(suspend=False, schedule="@weekly")
        await image_pruner.until_condition("Scheduled", "True", "Scheduled")
        found = await image_pruner.cron_job()
        assert made is not None
        assert found is not None
        assert found.metadata.uid == made.metadata.uid
        assert found.spec["schedule"] == "@weekly"
        with pytest.raises(kube.Invalid, match="must be five fields"):
            await image_pruner.edit(schedule="now and then")
        await image_pruner.kube.delete(IMAGE_PRUNERS, "cluster")
        await image_pruner.until(image_pruner.is_gone, "everything went with the ImagePruner")
        await image_pruner.restart()
        await image_pruner.make(schedule="@daily")
        await image_pruner.until_condition("Available", "True", "Ready")
        found = await image_pruner.cron_job()
        assert found is not None
        assert found.spec["schedule"] == "@daily", "the one that was deleted stays deleted"

    async def test_the_first_of_two_images_goes_and_the_one_in_use_stays(
        self, image_pruner: ImagePrunerUnderTest, tag: str
    ) -> None:
        await image_pruner.clear()
        pushed = []
        for one in image_pruner.registries:
            pushed.append((one, [await one.push(f"team/app:{tag}") for _ in range(2)]))
            await image_pruner.use(f"{one.name}-{tag}", f"{one.host}/team/app:{tag}")
        entries = [one.entry for one in image_pruner.registries]
        await image_pruner.make(schedule=image_pruner.soon, registries=entries, **AGGRESSIVE)
        limit = {"seconds_max": RUNS_SECONDS_MAX}
        await image_pruner.until_condition("Failed", "False", "Succeeded", **limit)
        await image_pruner.edit(suspend=True)
        for one, (first, second) in pushed:
            assert not await one.has("team/app", first), f"{one.name}: the first image is there"
            assert await one.has("team/app", second), f"{one.name}: the image in use is gone"
        runs = {one.name: one for one in (await image_pruner.status()).last_run}
        for one in image_pruner.registries:
            assert runs[one.name].phase == "Succeeded"
            assert runs[one.name].deleted >= 1
            assert runs[one.name].kept.get("Used", 0) >= 1
        assert (await image_pruner.status()).last_success_time


@pytest.mark.asyncio(loop_scope="session")
class OneMachineScenarios:
    """Where the Job may write to the storage of the registry, and reaches this process."""

    async def test_the_data_of_what_goes_is_freed_by_later_runs(
        self, image_pruner: ImagePrunerUnderTest, tag: str
    ) -> None:
        """A run condemns what earlier ones left, and a later one deletes it."""
        await image_pruner.clear()
        one = image_pruner.registries[-1]
        for number in range(6):  # most of the storage is needed, or a guard refuses
            await one.push(f"team/kept:{tag}-{number}")
        first, second = [await one.push(f"team/swept:{tag}") for _ in range(2)]
        await image_pruner.use(f"swept-{tag}", f"{one.host}/team/swept:{tag}")
        entry = {**one.entry, "sweep": {"grace": "1s"}}
        assert (one.root / data_path(first)).exists()
        await image_pruner.make(schedule=image_pruner.soon, registries=[entry], **AGGRESSIVE)
        freed: set[int] = set()

        async def is_freed() -> bool:
            runs = (await image_pruner.status()).last_run
            freed.update(run.freed_bytes for run in runs if run.name == f"{one.name}.blobs")
            return not (one.root / data_path(first)).exists() and max(freed, default=0) > 0

        limit = {"seconds_max": 2 * RUNS_SECONDS_MAX}
        await image_pruner.until(is_freed, "the data is gone, and a run reports it", **limit)
        await image_pruner.edit(suspend=True)
        assert await one.has("team/swept", second), "the image in use is gone"
        await image_pruner.until_condition("Failed", "False", "Succeeded", **limit)

    async def test_a_registry_with_a_password_a_policy_and_another_cluster(
        self, image_pruner: ImagePrunerUnderTest, tag: str, tmp_path: Path
    ) -> None:
        """One tag stays by the policy, one by a pod of the other cluster, and one goes."""
        await image_pruner.clear()
        address = image_pruner.address
        async with guarded_registry.opened(tmp_path, address) as one:
            for name in ("keep", "used", "old"):
                await one.push(name)
            used = f"{one.host}/{guarded_registry.REPOSITORY}:used"
            async with guarded_registry.another_cluster(address, uses=used) as kubeconfig:
                login, policy, authority, other = (
                    f"{what}-{tag}" for what in ("login", "policy", "authority", "other")
                )
                kind = "kubernetes.io/dockerconfigjson"
                await image_pruner.put(SECRETS, login, type=kind, data=one.login)
                await image_pruner.put(SECRETS, other, stringData={"kubeconfig": kubeconfig})
                rules = {"policy.yaml": guarded_registry.POLICY}
                await image_pruner.put(CONFIG_MAPS, policy, data=rules)
                await image_pruner.put(CONFIG_MAPS, authority, data={"ca.crt": one.authority_pem})
                entry = {
                    "name": "guarded",
                    "url": f"https://{one.host}",
                    "credentialsSecretName": login,
                    "policyConfigMapName": policy,
                    "certificateAuthorityConfigMapName": authority,
                    "kubeconfigSecretNames": [other],
                }
                await image_pruner.make(
                    schedule=image_pruner.soon, registries=[entry], **AGGRESSIVE
                )

                async def is_pruned() -> bool:
                    return "old" not in await one.tags()

                limit = {"seconds_max": RUNS_SECONDS_MAX}
                await image_pruner.until(is_pruned, "the old tag is gone", **limit)
                await image_pruner.until_condition("Failed", "False", "Succeeded", **limit)
                assert guarded_registry.PASSWORD not in str(await image_pruner.pruner())
                await image_pruner.clear()
                assert await one.tags() == {"keep", "used"}
