"""Pre-pulling as a feature: its gate, its kinds, its rights, and what it runs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lading.api import longhorn
from lading.api.apps import DAEMON_SETS
from lading.api.core import NODES, PODS, SECRETS
from lading.api.events import EVENTS
from lading.api.longhorn import IMAGE, IMAGES, SETTING, SETTINGS
from lading.api.rbac import NAMESPACE, Right
from lading.loop.feature import AgentContext, Context, Feature, Kind, Part, Work
from lading.pinned_images.node.types import PinSettings
from lading.prepull.gate import PRE_PULL
from lading.prepull.types import HOLD_KEY_NAME, PrePullSettings

_OWN = (NAMESPACE,)


@asynccontextmanager
async def _open_controller(context: Context) -> AsyncIterator[Work]:
    from lading.prepull import controller as prepull
    from lading.prepull.fleet import HolderFleet
    from lading.prepull.image_controller import ImageReconciler
    from lading.prepull.image_lists import NodeImageLists
    from lading.prepull.metrics import PrePullMetrics

    settings = context.setting(PrePullSettings) or PrePullSettings()
    caches = prepull.PrePullCaches.of(context.informers, context.namespace)
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
        image_lists=image_lists,
        settings=settings,
        clock=context.clock,
    )
    metrics = PrePullMetrics(
        context.metrics.registry, images=caches.images, roll_out=fleet.roll_out
    )
    daemon_set = prepull.HolderReconciler(
        kube=context.kube,
        clock=context.clock,
        caches=caches,
        fleet=fleet,
        image_lists=image_lists,
        settings=settings,
        namespace=context.namespace,
        gate_is_on=context.gates[PRE_PULL],
        recorder=context.recorder,
        metrics=metrics,
        facts_changed=lambda: status.wake(*caches.images.known_keys()),
    )
    images = ImageReconciler(
        caches=caches,
        fleet=fleet,
        daemon_set=daemon_set,
        kube=context.kube,
        clock=context.clock,
        recorder=context.recorder,
        periods=settings.periods,
    )
    status = context.controller(name=prepull.STATUS, reconcile=images.reconcile)
    controllers = {
        prepull.STATUS: status,
        prepull.DAEMON_SET: context.controller(
            name=prepull.DAEMON_SET, reconcile=daemon_set.reconcile, workers=1
        ),
    }
    prepull.watch(controllers, caches, fleet, settings.periods)
    yield Work(controllers=(fleet, image_lists, *controllers.values()))


@asynccontextmanager
async def _open_node(context: AgentContext) -> AsyncIterator[Work]:
    from lading.prepull.node import controller as node

    settings = context.setting(PinSettings) or PinSettings()
    periods = (context.setting(PrePullSettings) or PrePullSettings()).periods
    pods = node.pods_of(context.informers, context.namespace, context.node_name)
    reconciler = node.PresenceReconciler(
        pods=pods,
        kube=context.kube,
        cri=context.node.runtime.cri,
        clock=context.clock,
        resync_period=settings.resync_period,
    )
    controller = context.controller(name="prepull-node", reconcile=reconciler.reconcile, workers=1)
    node.watch(controller, pods, periods)
    yield Work(controllers=(controller,))


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
        Part(
            open=_open_controller,
            reads=(
                Kind(resource=IMAGES, namespaces=_OWN),
                Kind(resource=SETTINGS, namespaces=_OWN),
                Kind(resource=DAEMON_SETS, namespaces=_OWN),
                Kind(resource=PODS, namespaces=_OWN),
                Kind(resource=NODES),
            ),
            rights=(
                _right(longhorn.GROUP, "images", verbs=("create", "delete")),
                _right(longhorn.GROUP, "images/status", verbs=("patch",)),
                _right(longhorn.GROUP, "settings", verbs=("create",)),
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
        Part(
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
