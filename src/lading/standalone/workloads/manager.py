"""Puts the workload controllers together, with the pod loop of each node."""

import random
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

from prometheus_client import CollectorRegistry

from lading.kernel.values import replace
from lading.loop.controller import Controller
from lading.loop.feature import Kind, Runnable, Work
from lading.loop.informer import Informers
from lading.loop.managed_part import FoundKinds, ManagedPart, Served
from lading.loop.manager import Manager
from lading.loop.recorder import EventRecorder
from lading.observability.metrics import Metrics
from lading.ports.clock import Clock
from lading.ports.kube import Kube, Selection
from lading.standalone.workloads.cron_jobs import controller as cron_jobs
from lading.standalone.workloads.daemon_sets import controller as daemon_sets
from lading.standalone.workloads.jobs import controller as jobs
from lading.standalone.workloads.kinds import PODS
from lading.standalone.workloads.pods import controller as pods
from lading.standalone.workloads.pods import folders
from lading.standalone.workloads.pods import plan as pod_plan
from lading.standalone.workloads.pods.controller import Declarations, PodNode
from lading.standalone.workloads.reconciler import WorkloadContext
from lading.standalone.workloads.scheduler import controller as scheduler

COMPONENT = "lading-workloads"
ClusterController = Callable[[WorkloadContext], Controller]
CLUSTER_CONTROLLERS: tuple[ClusterController, ...] = tuple(
    one.open_controller for one in (daemon_sets, jobs, cron_jobs, scheduler)
)


async def open_workloads(
    nodes: Iterable[PodNode],
    *,
    kube: Kube,
    clock: Clock,
    cluster_controllers: Iterable[ClusterController] = CLUSTER_CONTROLLERS,
) -> Manager:
    """When it returns, every runtime knows the containers of the pods that are on its node.

    So the garbage collection of images, which starts later, takes none of theirs. Nodes of a
    cluster that has controllers and a scheduler of its own get none from here.
    """
    rng = random.Random()  # noqa: S311 - jitter, not a secret
    metrics = Metrics(CollectorRegistry())
    informers = Informers(kube=kube, clock=clock, rng=rng, metrics=metrics)
    context = WorkloadContext(
        kube=kube,
        clock=clock,
        rng=rng,
        informers=informers.scoped(),
        recorder=EventRecorder(
            kube=kube,
            clock=clock,
            rng=rng,
            metrics=metrics,
            controller=COMPONENT,
            instance=COMPONENT,
        ),
        metrics=metrics,
    )
    declared = [(node, await _declared(kube, node)) for node in nodes]

    @asynccontextmanager
    async def opened(served: Served) -> AsyncIterator[Work]:
        yield _work(context, declared, cluster_controllers)

    part = ManagedPart(
        name="workloads",
        is_on=True,
        kinds=(),
        informers=context.informers,
        open_work=opened,
        check=_nothing_to_check,
        clock=clock,
        rng=rng,
    )
    return Manager(informers=informers, parts=(part,), support=(context.recorder,))


async def _nothing_to_check(kinds: Iterable[Kind]) -> FoundKinds:
    return FoundKinds(served={}, missing=())


async def _declared(kube: Kube, node: PodNode) -> Declarations:
    declarations = Declarations(node.declare)
    selection = Selection(field_selector=f"spec.nodeName={node.name}")
    uids: set[str] = set()
    page = await kube.page(PODS, selection)
    while True:
        for pod in page.items:
            present = await pods.images_of(node.runtime, pod)
            declarations.set(pod.metadata.uid, tuple(pod_plan.declared(pod, present)))
            uids.add(pod.metadata.uid)
        if not page.continue_token:
            break
        page = await kube.page(PODS, selection, continue_token=page.continue_token)
    folders.keep_only(node.folder, uids)
    return declarations


def _work(
    context: WorkloadContext,
    nodes: Iterable[tuple[PodNode, Declarations]],
    cluster_controllers: Iterable[ClusterController],
) -> Work:
    controllers = [one(context) for one in cluster_controllers]
    support: list[Runnable] = []
    for node, declarations in nodes:
        own = replace(context, metrics=Metrics(CollectorRegistry()))
        of_node, beside = pods.open_pods(own, node, declarations)
        controllers += of_node
        support += beside
    return Work(controllers=tuple(controllers), support=tuple(support))
