"""`lading controller`: the cluster's controllers, one of several replicas leading at a time."""

import random
import socket
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lading.boot_images.types import BootImageSettings
from lading.cli import connection, running
from lading.cli.bootimage.settings import aws_credentials_option, settings_options
from lading.cli.connection import Target
from lading.cli.feature_gates import feature_gates_option
from lading.cli.leader_election import leader_election_options
from lading.cli.prepull.settings import prepull_options
from lading.cli.process_options import process_options
from lading.cli.prune.pruner_settings import pruner_options
from lading.kernel.feature_gates import Gates
from lading.kernel.values import replace
from lading.loop.timing import Timing
from lading.prepull.types import PrePullSettings
from lading.pruning.operator.types import PrunerSettings
from lading.wiring.clock import system_clock

if TYPE_CHECKING:
    from lading.cli.process import ServingProcess


@click.command(name="controller")
@feature_gates_option()
@settings_options
@aws_credentials_option
@prepull_options
@pruner_options
@leader_election_options
@connection.target_options
@process_options
def command(
    target: Target,
    process: "ServingProcess",
    gates: Gates,
    settings: BootImageSettings,
    aws_credentials_file: Path | None,
    prepull: PrePullSettings,
    pruner: PrunerSettings,
    timing: Timing,
) -> None:
    """Run the controllers. --namespace is the namespace of the Lease; default: the pod's."""
    own = (settings, prepull, replace(pruner, pod_name=prepull.pod_name))
    running.run(
        process.serve(lambda: _run(target, process, gates, own, aws_credentials_file, timing))
    )


async def _run(
    target: Target,
    process: "ServingProcess",
    gates: Gates,
    settings: tuple[object, ...],
    aws_credentials_file: Path | None,
    timing: Timing,
) -> None:
    from lading.wiring import clouds, controller  # slow to load, and --help needs none of it

    clock, rng = system_clock(), random.SystemRandom()
    connection = target.found()
    async with (
        process.open_kube(connection) as kube,
        process.open_lease_kube(connection) as lease_kube,
        clouds.open_clouds(clock, aws_credentials_file=aws_credentials_file) as access,
    ):
        runtime = controller.controllers(
            kube=kube,
            clock=clock,
            metrics=process.metrics,
            rng=rng,
            gates=gates,
            namespace=target.default_namespace,
            instance=socket.gethostname(),
            settings=(*settings, access),
            elector=controller.elector(
                kube=lease_kube,
                clock=clock,
                metrics=process.metrics,
                rng=rng,
                namespace=target.default_namespace,
                identity=f"{socket.gethostname()}_{uuid.uuid4()}",
                timing=timing,
            ),
        )
        await process.run(runtime)
