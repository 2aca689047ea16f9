"""The process `lading agent`: the components of all features on one node."""

import random

from lading.api.core import NODES
from lading.kernel.feature_gates import Gates
from lading.kernel.objects import Key
from lading.loop.feature import AgentContext
from lading.loop.informer import Informers
from lading.loop.manager import Manager
from lading.loop.recorder import EventRecorder
from lading.observability.metrics import Metrics
from lading.ports.clock import Clock
from lading.ports.kube import Kube
from lading.ports.node import NodeParts
from lading.wiring import host
from lading.wiring.features import FEATURES
from lading.wiring.manager import Subject, manager_of

COMPONENT = "lading-agent"


async def open_agent(
    parts: NodeParts,
    *,
    node_name: str,
    kube: Kube,
    clock: Clock,
    metrics: Metrics,
    gates: Gates,
    rng: random.Random,
    namespace: str = "default",
    settings: tuple[object, ...] = (),
) -> Manager:
    node = host.gated(parts, gates)
    context = AgentContext(
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
            instance=node_name,
        ),
        metrics=metrics,
        gates=gates,
        namespace=namespace,
        settings=settings,
        node_name=node_name,
        node=node,
        handlers_honoured=await host.handlers_honoured(node, gates),
        record_pull=host.pull_recorder(node).record,
        images_kept_while_gate_is_off=host.images_kept_while_gate_is_off(parts, gates),
    )
    return manager_of(
        ((feature, part) for feature in FEATURES for part in feature.agent),
        context,
        subject=Subject(NODES, Key("", node_name)),
    )
