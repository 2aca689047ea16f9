"""Opens the workload controllers, and the pod controllers of each node."""

import random
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from prometheus_client import CollectorRegistry

from lading.embedded.workloads.controllers import CLUSTER_CONTROLLERS, ClusterController
from lading.embedded.workloads.kinds import PODS
from lading.embedded.workloads.pods import controller as pods
from lading.embedded.workloads.pods import plan as pod_plan
from lading.embedded.workloads.pods import processes
from lading.embedded.workloads.pods.controller import Declarations, PodNode
from lading.embedded.workloads.reconciler import WorkloadContext
from lading.kernel.values import replace
from lading.loop.component_runner import ComponentRunner, FoundKinds, Served
from lading.loop.feature import Kind, Runnable, Tasks
from lading.loop.informer import Informers
from lading.loop.manager import Manager
from lading.loop.recorder import EventRecorder
from lading.observability.metrics import Metrics
from lading.ports.clock import Clock
from lading.ports.kube import Kube, Selection

COMPONENT = "lading-workloads"


async def open_workloads(
    nodes: Iterable[PodNode],
    *,
    kube: Kube,
    clock: Clock,
    cluster_controllers: Iterable[ClusterController] = CLUSTER_CONTROLLERS,
) -> Manager:
    """Opens the controllers, and tells every runtime the containers of the pods on its node.

    Garbage collection of images starts later and so removes no image of a pod. A test with a real
    control plane passes no `cluster_controllers`.
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
    async def opened(served: Served) -> AsyncIterator[Tasks]:
        yield _work(context, declared, cluster_controllers)

    part = ComponentRunner(
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
    processes.keep_volumes(node.folder, uids)
    return declarations


def _work(
    context: WorkloadContext,
    nodes: Iterable[tuple[PodNode, Declarations]],
    cluster_controllers: Iterable[ClusterController],
) -> Tasks:
    controllers = [one(context) for one in cluster_controllers]
    support: list[Runnable] = []
    for node, declarations in nodes:
        own = replace(context, metrics=Metrics(CollectorRegistry()))
        of_node, beside = pods.open_pods(own, node, declarations)
        controllers += of_node
        support += beside
    return Tasks(controllers=tuple(controllers), support=tuple(support))
