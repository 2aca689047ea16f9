"""`lading controller`: the cluster's controllers, one of several replicas leading at a time."""

import random
import socket
import uuid
from collections.abc import Mapping

import click

from lading.adapters.clock import SystemClock
from lading.cli import connection, options, running
from lading.cli.connection import Target
from lading.cli.process import Process, process_options
from lading.kernel.feature_gates import Gate
from lading.loop.election import Elector
from lading.ports.kube import Kube
from lading.wiring import controller


@click.command(name="controller")
@options.feature_gates_option("PinnedImages=false takes every set back from its pools.")
@connection.target_options
@process_options
def command(target: Target, process: Process, gates: Mapping[Gate, bool]) -> None:
    """Run the controllers. The namespace is that of the lease: the pod's own unless given."""
    running.run(process.serve(lambda: _run(target, process, gates)))


async def _run(target: Target, process: Process, gates: Mapping[Gate, bool]) -> None:
    clock, rng = SystemClock(), random.SystemRandom()
    async with process.open_kube(target.found()) as kube:
        runtime = controller.controllers(
            kube=kube,
            clock=clock,
            metrics=process.metrics,
            rng=rng,
            gates=gates,
            elector=_elector(kube, target.default_namespace, process, rng),
        )
        await process.run(runtime)


def _elector(kube: Kube, namespace: str, process: Process, rng: random.Random) -> Elector:
    return Elector(
        kube=kube,
        clock=SystemClock(),
        rng=rng,
        metrics=process.metrics,
        namespace=namespace,
        name=controller.LEASE_NAME,
        identity=f"{socket.gethostname()}_{uuid.uuid4()}",
    )
