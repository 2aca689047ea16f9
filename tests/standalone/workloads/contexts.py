"""A workload context on an API server in memory, and a node that has nothing."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.loop.informer import Informers
from lading.loop.recorder import EventRecorder
from lading.observability.metrics import Metrics
from lading.servers.kube.authentication import ADMIN
from lading.servers.kube.core import Core
from lading.servers.kube.storage.memory import MemoryStorage
from lading.standalone.api_server import Authorized
from lading.standalone.workloads.pods.controller import PodNode
from lading.standalone.workloads.reconciler import WorkloadContext

_NOTHING: Any = None
NO_NODE = PodNode(
    name="n",
    runtime=_NOTHING,
    credentials=_NOTHING,
    declare=lambda containers: None,
    own_images=frozenset(),
    environment={},
    folder=Path("/absent"),
)


@asynccontextmanager
async def opened_context() -> AsyncIterator[WorkloadContext]:
    clock, rng, metrics = SystemClock(), random.Random(1), Metrics(CollectorRegistry())
    core = Core(MemoryStorage(), clock, tokens={"t": ADMIN})
    kube = KubeClient(Authorized(core, "t"))
    yield WorkloadContext(
        kube=kube,
        clock=clock,
        rng=rng,
        informers=Informers(kube=kube, clock=clock, rng=rng, metrics=metrics),
        recorder=EventRecorder(
            kube=kube, clock=clock, rng=rng, metrics=metrics, controller="t", instance="t"
        ),
        metrics=metrics,
    )
    await core.close()
