"""The process `lading controller`: the cluster components of all features."""

import random

from lading.api.core import LEASES
from lading.kernel.feature_gates import Gates
from lading.kernel.objects import Key
from lading.loop.election import CLIENT_GO_TIMING, Elector, Timing
from lading.loop.feature import Context, Feature
from lading.loop.informer import Informers
from lading.loop.manager import Manager
from lading.loop.recorder import EventRecorder
from lading.observability.metrics import Metrics
from lading.ports.clock import Clock
from lading.ports.kube import Kube
from lading.wiring.features import FEATURES
from lading.wiring.manager import Subject, manager_of

COMPONENT = "lading-controller"
LEASE_NAME = "lading-controller"


def controllers(
    *,
    kube: Kube,
    clock: Clock,
    metrics: Metrics,
    rng: random.Random,
    gates: Gates,
    namespace: str = "default",
    instance: str = COMPONENT,
    settings: tuple[object, ...] = (),
    elector: Elector | None = None,
    features: tuple[Feature, ...] = FEATURES,
) -> Manager:
    """Events of this replica carry the name `instance`."""
    context = Context(
        kube=kube,
        clock=clock,
        rng=rng,
        informers=Informers(kube=kube, clock=clock, rng=rng, metrics=metrics),
        recorder=EventRecorder(
            kube=kube,
            clock=clock,
            rng=rng,
            metrics=metrics,
            controller=COMPONENT,
            instance=instance,
        ),
        metrics=metrics,
        gates=gates,
        namespace=namespace,
        settings=settings,
        elector=elector,
    )
    return manager_of(
        ((feature, part) for feature in features for part in feature.controller),
        context,
        subject=Subject(LEASES, Key(namespace, LEASE_NAME)) if elector else None,
    )


def elector(
    *,
    kube: Kube,
    clock: Clock,
    metrics: Metrics,
    rng: random.Random,
    namespace: str,
    identity: str,
    timing: Timing = CLIENT_GO_TIMING,
) -> Elector:
    """Elects one replica as the leader. The identity must be unique for each process."""
    return Elector(
        kube=kube,
        clock=clock,
        rng=rng,
        metrics=metrics,
        namespace=namespace,
        name=LEASE_NAME,
        identity=identity,
        timing=timing,
    )
