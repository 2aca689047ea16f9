"""The cluster's controllers, put together over one set of informers."""

import random
from collections.abc import Mapping

from lading.kernel.feature_gates import Gate
from lading.loop.controller import Controller
from lading.loop.election import Elector
from lading.loop.informer import Informers
from lading.loop.manager import Manager
from lading.observability.metrics import Metrics
from lading.pinned_images.cluster import controller as cluster_controller
from lading.pinned_images.cluster.controller import PLANNERS, Caches, ClusterReconciler
from lading.ports.clock import Clock
from lading.ports.kube import Kube

LEASE_NAME = "lading-controller"


def controllers(
    *,
    kube: Kube,
    clock: Clock,
    metrics: Metrics,
    rng: random.Random,
    gates: Mapping[Gate, bool],
    elector: Elector | None = None,
) -> Manager:
    informers = Informers(kube=kube, clock=clock, rng=rng, metrics=metrics)
    caches = Caches.of(informers)
    made = {}
    for name, planner in PLANNERS.items():
        reconciler = ClusterReconciler(
            planner=planner,
            kube=kube,
            clock=clock,
            caches=caches,
            is_on=gates[Gate.PINNED_IMAGES],
        )
        reconcile = reconciler.reconcile
        made[name] = Controller(
            name=name,
            reconcile=elector.guarded(reconcile) if elector else reconcile,
            clock=clock,
            rng=rng,
            metrics=metrics,
        )
    cluster_controller.watch(made, caches)
    return Manager(informers=informers, controllers=tuple(made.values()), elector=elector)
