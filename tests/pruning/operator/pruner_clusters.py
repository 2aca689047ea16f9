"""A cluster in memory: the API server and the controller are real, Jobs are played."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, generate_latest

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.api.apiextensions import CUSTOM_RESOURCE_DEFINITIONS
from lading.api.core import CONFIG_MAPS, CRON_JOBS, JOBS, NAMESPACES, PODS, CronJob
from lading.api.definitions import OWNER, OWNER_LABEL
from lading.api.imageregistry import (
    IMAGE_PRUNER,
    IMAGE_PRUNERS,
    IMAGE_REGISTRY_CONFIGS,
    StoredImagePruner,
)
from lading.api.openshift_config import CLUSTER_VERSIONS
from lading.api.rbac import CLUSTER_ROLE_BINDINGS, SERVICE_ACCOUNTS
from lading.embedded.api_server import Authorized
from lading.embedded.kube.authentication import ADMIN
from lading.embedded.kube.core import Core
from lading.embedded.kube.storage.memory import MemoryStorage
from lading.installation import apply as installation
from lading.kernel import conditions
from lading.kernel.conditions import Condition
from lading.kernel.objects import Object, Resource
from lading.loop.manager import Manager
from lading.observability.metrics import Metrics
from lading.ports import kube
from lading.ports.http import HttpTransport, Request, Response
from lading.ports.kube import PatchType, Selection
from lading.pruning.feature import FEATURE
from lading.pruning.operator import status
from lading.pruning.operator.types import (
    DECISION_NAME,
    OBJECT_NAME,
    REPORT_NAME,
    PrunerSettings,
)
from lading.wiring import controller
from lading.wiring.features import definitions_of
from lading.wiring.gates import parse_gates
from tests.pruning.operator import granted_rights
from tests.pruning.operator.granted_rights import Granted
from tests.pruning.operator.pruner_worlds import IMAGE, NAMESPACE

T = TypeVar("T", bound=Object)
WAIT_SECONDS_MAX = 60.0
CLOCK = SystemClock()


@dataclass
class Line:
    """The controller's way to the API server: what is written is kept, and it can be cut."""

    server: HttpTransport
    written: list[tuple[str, str]] = field(default_factory=list)
    writes_left: int | None = None
    """After so many writes the line is dead, as after kill -9."""

    async def __call__(self, request: Request) -> Response:
        if request.method != "GET" and "/events" not in request.path:
            if self.writes_left == 0:
                raise kube.Unavailable("the process is dead")
            if self.writes_left is not None:
                self.writes_left -= 1
            self.written.append((request.method, request.path))
        return await self.server(request)


@dataclass
class PrunerCluster:
    kube: KubeClient
    """As administrator."""
    line: Line
    job_line: HttpTransport | None = None
    """The way of the Jobs to the API server, where that is in memory."""
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)

    async def create(self, resource: Resource[Any], name: str, **parts: Any) -> Any:
        namespace = NAMESPACE if resource.namespaced else ""
        metadata = {"name": name, **parts.pop("metadata", {})}
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
        return await self.kube.create(resource, {**body, **parts}, namespace=namespace)

    async def pruner(self) -> StoredImagePruner | None:
        return await self._found(IMAGE_PRUNERS, "cluster", "")

    async def cron_job(self) -> CronJob | None:
        return await self._found(CRON_JOBS, OBJECT_NAME, NAMESPACE)

    async def decision(self) -> str | None:
        found = await self._found(CONFIG_MAPS, DECISION_NAME, NAMESPACE)
        return None if found is None else found.data["decision"]

    async def until_decision(self, decision: str) -> None:
        async def is_so() -> bool:
            return await self.decision() == decision

        await self.until(is_so, f"the decision is {decision}")

    async def owned(self) -> dict[str, Object | None]:
        """The ImagePruner and what belongs to it, by kind."""
        return {
            "ImagePruner": await self.pruner(),
            "CronJob": await self.cron_job(),
            "ServiceAccount": await self._found(SERVICE_ACCOUNTS, OBJECT_NAME, NAMESPACE),
            "ClusterRoleBinding": await self._found(CLUSTER_ROLE_BINDINGS, OBJECT_NAME, ""),
        }

    async def roles(self) -> set[str]:
        """Bound to the account of the Jobs, and to it alone."""
        page = await self.kube.page(CLUSTER_ROLE_BINDINGS)
        return {
            one.role_ref.name
            for one in page.items
            if [each.name for each in one.subjects or ()] == [OBJECT_NAME]
        }

    async def has_report_map(self) -> bool:
        return await self._found(CONFIG_MAPS, REPORT_NAME, NAMESPACE) is not None

    async def revisions(self) -> dict[str, str]:
        return {
            kind: one.metadata.resource_version if one is not None else ""
            for kind, one in (await self.owned()).items()
        }

    async def is_gone(self) -> bool:
        """The ImagePruner with all of its objects and Jobs."""
        jobs = await self.kube.page(JOBS, Selection(namespace=NAMESPACE))
        return not (jobs.items or any((await self.owned()).values()) or await self.roles())

    async def _found(self, resource: Resource[T], name: str, namespace: str) -> T | None:
        try:
            return await self.kube.get(resource, name, namespace=namespace)
        except kube.NotFound:
            return None

    async def edit(self, **spec: Any) -> None:
        await self.kube.patch(IMAGE_PRUNERS, "cluster", {"spec": spec})

    async def condition(self, kind: str) -> Condition | None:
        found = await self.pruner()
        return conditions.find(status.status_of(found).conditions, kind) if found else None

    async def until(self, is_so: Callable[[], Awaitable[bool]], what: str) -> None:
        try:
            async with asyncio.timeout(WAIT_SECONDS_MAX):
                while not await is_so():
                    await CLOCK.sleep(0.05)
        except TimeoutError:
            found = await self.pruner()
            raise AssertionError(f"never came true: {what}\n{found}") from None

    async def until_condition(self, kind: str, status: str, reason: str) -> Condition:
        async def is_so() -> bool:
            found = await self.condition(kind)
            return found is not None and (found.status, found.reason) == (status, reason)

        await self.until(is_so, f"{kind} is {status}, {reason}")
        found = await self.condition(kind)
        assert found is not None
        return found

    async def until_flag(self, flag: str) -> None:
        async def is_so() -> bool:
            found = await self.cron_job()
            return found is not None and flag in str(found.spec)

        await self.until(is_so, f"the CronJob has {flag}")

    async def play_job(self, name: str, *, failed: str = "") -> None:
        """As the CronJob controller makes a Job, and as the Job ends."""
        owner = await self.cron_job()
        assert owner is not None
        reference = {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "name": OBJECT_NAME,
            "uid": owner.metadata.uid,
            "controller": True,
        }
        template = owner.spec["jobTemplate"]
        await self.create(
            JOBS,
            name,
            metadata={**template["metadata"], "ownerReferences": [reference]},
            spec=template["spec"],
        )
        now = conditions.timestamp(CLOCK.now())
        kinds = ("FailureTarget", "Failed") if failed else ("SuccessCriteriaMet", "Complete")
        status: dict[str, Any] = {
            "startTime": now,
            "conditions": [
                {
                    "type": one,
                    "status": "True",
                    "reason": "Played",
                    "message": failed,
                    "lastTransitionTime": now,
                }
                for one in kinds
            ],
        }
        if not failed:
            status |= {"completionTime": now, "succeeded": 1}
        await self.kube.patch(
            JOBS, name, {"status": status}, namespace=NAMESPACE, subresource="status"
        )

    async def play_out_of_memory(self, job: str) -> None:
        """A pod of the Job, of which the first container needed too much."""
        maker, owner = await self.cron_job(), await self.kube.get(JOBS, job, namespace=NAMESPACE)
        assert maker is not None
        template = maker.spec["jobTemplate"]["spec"]["template"]
        name = f"{job}-pod"
        metadata = {
            "labels": {**template["metadata"]["labels"], "batch.kubernetes.io/job-name": job},
            "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": owner.metadata.uid}
            ],
        }
        await self.create(PODS, name, metadata=metadata, spec=template["spec"])
        container = template["spec"]["containers"][0]
        ended = {
            "name": container["name"],
            "image": container["image"],
            "imageID": "",
            "ready": False,
            "restartCount": 0,
            "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
        }
        status = {"phase": "Failed", "containerStatuses": [ended]}
        await self.kube.patch(
            PODS, name, {"status": status}, namespace=NAMESPACE, subresource="status"
        )

    def metrics(self) -> str:
        return generate_latest(self.registry).decode()

    async def install_config(self, state: str) -> None:
        """The kind Config of OpenShift's registry operator, loosely, and its object."""
        await self.install_kind(IMAGE_REGISTRY_CONFIGS)
        await self.create(IMAGE_REGISTRY_CONFIGS, "cluster", spec={"managementState": state})

    async def install_openshift(self, *versions: str) -> None:
        """What tells that this is OpenShift, and which versions it had."""
        await self.install_kind(CLUSTER_VERSIONS)
        history = [{"state": "Completed", "version": one} for one in versions]
        await self.create(CLUSTER_VERSIONS, "version", status={"history": history})

    async def give_the_kind_another_owner(self) -> None:
        """With a schema that lets everything pass."""
        name = IMAGE_PRUNER.name
        found = await self.kube.get(CUSTOM_RESOURCE_DEFINITIONS, name)
        assert found.metadata.labels[OWNER_LABEL] == OWNER
        anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        operations = [
            {"op": "remove", "path": "/metadata/labels/app.kubernetes.io~1managed-by"},
            {"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema", "value": anything},
        ]
        await self.kube.patch(
            CUSTOM_RESOURCE_DEFINITIONS, name, operations, patch_type=PatchType.JSON
        )

        async def is_loose() -> bool:
            body = {"kind": IMAGE_PRUNERS.kind, "apiVersion": IMAGE_PRUNERS.api_version}
            try:
                await self.kube.create(
                    IMAGE_PRUNERS, {**body, "metadata": {"name": "other"}}, dry_run=True
                )
            except kube.Invalid:
                return False
            return True

        await self.until(is_loose, "the schema lets everything pass")

    async def install_kind(self, resource: Resource[Any]) -> None:
        anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": anything},
        }
        await self.create(
            CUSTOM_RESOURCE_DEFINITIONS,
            f"{resource.plural}.{resource.group}",
            spec={
                "group": resource.group,
                "names": {"kind": resource.kind, "plural": resource.plural},
                "scope": "Cluster",
                "versions": [version],
            },
        )

        async def is_served() -> bool:
            try:
                await self.kube.page(resource, limit=1)
            except kube.NotFound:
                return False
            return True

        await self.until(is_served, f"{resource.kind} is served")


@contextlib.asynccontextmanager
async def opened() -> AsyncIterator[PrunerCluster]:
    core = Core(MemoryStorage(), CLOCK, tokens={"token": ADMIN})
    direct = Authorized(core, "token")
    admin = KubeClient(direct)
    await installation.install(admin, CLOCK, definitions_of((FEATURE,)))
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    await admin.create(NAMESPACES, body)
    of_controller = Granted(direct, granted_rights.CONTROLLER)
    of_job = Granted(direct, granted_rights.JOB)
    yield PrunerCluster(kube=admin, line=Line(of_controller), job_line=of_job)
    await core.close()
    assert of_controller.refused == [], "the controller has every right that it needs"
    assert of_job.refused == [], "a Job has every right that it needs"


@contextlib.asynccontextmanager
async def running(
    cluster: PrunerCluster, *, gates: str = "", **settings: Any
) -> AsyncIterator[Manager]:
    """The controller of the feature, over the line."""
    cluster.registry = CollectorRegistry()
    usual = {"image": IMAGE, "missed_grace": timedelta(minutes=1)}
    manager = controller.controllers(
        kube=KubeClient(cluster.line),
        clock=CLOCK,
        metrics=Metrics(cluster.registry),
        rng=random.Random(1),
        gates=parse_gates(gates),
        namespace=NAMESPACE,
        settings=(PrunerSettings(**{**usual, **settings}),),
        features=(FEATURE,),
    )
    work = asyncio.create_task(manager.run())
    try:
        yield manager
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
