"""`lading controller`: the cluster's controllers, one of several replicas leading at a time."""

import random
import socket
import uuid

import click

from lading.adapters.clock import SystemClock
from lading.cli import connection, running
from lading.cli.connection import Target
from lading.cli.feature_gates import feature_gates_option
from lading.cli.process import Process, process_options
from lading.kernel.feature_gates import Gates
from lading.loop.election import Elector
from lading.ports.kube import Kube
from lading.wiring import controller


@click.command(name="controller")
@feature_gates_option()
@connection.target_options
@process_options
def command(target: Target, process: Process, gates: Gates) -> None:
    """Run the controllers. The namespace is that of the lease: the pod's own unless given."""
    running.run(process.serve(lambda: _run(target, process, gates)))


async def _run(target: Target, process: Process, gates: Gates) -> None:
    clock, rng = SystemClock(), random.SystemRandom()
    async with process.open_kube(target.found()) as kube:
        runtime = controller.controllers(
            kube=kube,
            clock=clock,
            metrics=process.metrics,
            rng=rng,
            gates=gates,
            namespace=target.default_namespace,
            instance=socket.gethostname(),
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
