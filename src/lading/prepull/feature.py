"""Pre-pulling as a feature: its gate, its kinds, its rights and its controllers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lading.api import longhorn
from lading.api.core import DAEMON_SETS, EVENTS, NODES, PODS, SECRETS
from lading.api.longhorn import IMAGE, IMAGES, SETTING
from lading.api.rbac import NAMESPACE, READ, Right
from lading.loop.feature import AgentContext, Component, Context, Feature, Kind, Tasks
from lading.loop.own_facts import WriteLog
from lading.pinned_images.node.types import PinSettings
from lading.prepull import controller
from lading.prepull.fleet import HolderFleet
from lading.prepull.image_lists import NodeImageLists
from lading.prepull.metrics import PrePullMetrics
from lading.prepull.node import controller as node
from lading.prepull.observe import PrePullCaches, PrePullFacts
from lading.prepull.types import HOLD_KEY_NAME, PRE_PULL, PrePullSettings

_OWN = (NAMESPACE,)


@asynccontextmanager
async def _open_controller(context: Context) -> AsyncIterator[Tasks]:
    settings = context.setting(PrePullSettings) or PrePullSettings()
    caches = PrePullCaches.of(context)
    image_lists = NodeImageLists(
        kube=context.kube,
        clock=context.clock,
        rng=context.rng,
        metrics=context.metrics,
        delay=settings.periods.image_list_delay,
    )
    fleet = HolderFleet(
        node_cache=caches.nodes,
        pod_cache=caches.pods,
        daemon_set_cache=caches.daemon_sets,
        image_lists=image_lists,
        settings=settings,
        clock=context.clock,
    )
    writes = WriteLog(context.clock, changed=lambda: status.wake(*caches.images.known_keys()))
    facts = PrePullFacts(
        kube=context.kube,
        clock=context.clock,
        caches=caches,
        fleet=fleet,
        image_lists=image_lists,
        settings=settings,
        namespace=context.namespace,
        gate_is_on=context.gates[PRE_PULL],
        writes=writes,
    )
    daemon_set = controller.HolderReconciler(
        kube=context.kube,
        clock=context.clock,
        facts=facts,
        writes=writes,
        fleet=fleet,
        image_lists=image_lists,
        settings=settings,
        recorder=context.recorder,
        metrics=PrePullMetrics(context.metrics.registry, caches.images, fleet.roll_out),
    )
    images = controller.ImageReconciler(
        caches=caches,
        facts=facts,
        fleet=fleet,
        kube=context.kube,
        clock=context.clock,
        recorder=context.recorder,
        settings=settings,
    )
    status = context.controller(name=controller.STATUS, reconcile=images.reconcile)
    controllers = {
        controller.STATUS: status,
        controller.DAEMON_SET: context.controller(
            name=controller.DAEMON_SET, reconcile=daemon_set.reconcile, workers=1
        ),
    }
    controller.watch(controllers, caches, fleet, settings.periods)
    yield Tasks(controllers=(fleet, image_lists, *controllers.values()), support=(caches.settings,))


@asynccontextmanager
async def _open_node(context: AgentContext) -> AsyncIterator[Tasks]:
    settings = context.setting(PinSettings) or PinSettings()
    periods = (context.setting(PrePullSettings) or PrePullSettings()).periods
    pods = node.pods_of(context.informers, context.namespace, context.node_name)
    reconciler = node.PresenceReconciler(
        pods=pods,
        kube=context.kube,
        cri=context.node.runtime.cri,
        platform=context.node.platform_of(""),
        clock=context.clock,
        resync_period=settings.resync_period,
    )
    compare = context.controller(name="prepull-node", reconcile=reconciler.reconcile, workers=1)
    node.watch(compare, pods, periods)
    yield Tasks(controllers=(compare,))


def _right(
    group: str,
    *resources: str,
    verbs: tuple[str, ...],
    names: tuple[str, ...] = (),
    why: str = "",
) -> Right:
    return Right(
        group=group, resources=resources, verbs=verbs, names=names, namespaces=_OWN, why=why
    )


FEATURE = Feature(
    name="prepull",
    gate=PRE_PULL,
    summary="Holds the images of Image objects on every worker node, with one DaemonSet.",
    owns=(IMAGE, SETTING),
    controller=(
        Component(
            open=_open_controller,
            reads=(
                Kind(resource=IMAGES, namespaces=_OWN),
                Kind(resource=DAEMON_SETS, namespaces=_OWN),
                Kind(resource=PODS, namespaces=_OWN),
                Kind(resource=NODES),
            ),
            rights=(
                _right(longhorn.GROUP, "images", verbs=("create", "delete")),
                _right(longhorn.GROUP, "images/status", verbs=("patch",)),
                _right(longhorn.GROUP, "settings", verbs=(*READ, "create")),
                _right(DAEMON_SETS.group, "daemonsets", verbs=("create", "patch", "delete")),
                _right(
                    SECRETS.group,
                    "secrets",
                    verbs=("get",),
                    names=(HOLD_KEY_NAME,),
                    why="The key of the folder where images are held by containers, on nodes that "
                    "cannot mount image volumes.",
                ),
                _right(
                    SECRETS.group,
                    "secrets",
                    verbs=("create",),
                    why="Only that key: see controller-policy.yaml.",
                ),
                _right(
                    PODS.group,
                    "pods",
                    verbs=("patch", "delete"),
                    why="Holder pods wait for their turn with a scheduling gate, which a patch "
                    "removes.",
                ),
                _right(
                    EVENTS.group,
                    "events",
                    verbs=("list",),
                    why="Only events report that a quota refuses the pods of a DaemonSet.",
                ),
            ),
        ),
    ),
    agent=(
        Component(
            open=_open_node,
            reads=(Kind(resource=PODS, namespaces=_OWN),),
            rights=(
                _right(
                    PODS.group,
                    "pods/status",
                    verbs=("patch",),
                    why="Only one condition of holder pods on its own node: see agent-policy.yaml.",
                ),
            ),
        ),
    ),
)
