"""`lading controller`: the cluster's controllers, one of several replicas leading at a time."""

import os
import random
import socket
import uuid
from datetime import timedelta

import click

from lading.boot_images.types import BootImageSettings, CloudAccess
from lading.cli import connection, options, running
from lading.cli.bootimage.settings import ec2_options, settings_options
from lading.cli.connection import Target
from lading.cli.options import Removed
from lading.cli.prepull.settings import prepull_options
from lading.cli.process import REMOVED_LOG_FORMAT, ServingProcess, process_options
from lading.cli.prune.pruner_settings import pruner_options
from lading.kernel.errors import Malformed
from lading.kernel.feature_gates import Gates
from lading.kernel.values import replace
from lading.loop.election import CLIENT_GO_TIMING, Timing
from lading.prepull.types import PrePullSettings
from lading.pruning.operator.types import PrunerSettings
from lading.wiring import controller
from lading.wiring.clock import system_clock

_SECOND = timedelta(seconds=1)
_DERIVED = Removed("it follows from --leader-elect-lease-duration", has_value=True)
_REMOVED = {
    "--leader-elect-renew-deadline": _DERIVED,
    "--leader-elect-retry-period": _DERIVED,
    "--log-format": REMOVED_LOG_FORMAT,
}


def timing(text: str) -> Timing:
    """A lease of this length; renewals keep client-go's proportions of 15, 10 and 2 seconds."""
    lease = options.positive_period(text)
    if lease % _SECOND:
        raise Malformed(what="lease duration", text=text, reason="expected whole seconds")
    seconds = lease // _SECOND
    usual = CLIENT_GO_TIMING
    return Timing(
        lease_seconds=seconds,
        renew_deadline_seconds=seconds * usual.renew_deadline_seconds / usual.lease_seconds,
        retry_seconds=seconds * usual.retry_seconds / usual.lease_seconds,
    )


@click.command(name="controller", cls=options.with_former_options(removed=_REMOVED))
@options.feature_gates_option()
@settings_options
@ec2_options
@prepull_options
@pruner_options
@click.option(
    "--leader-elect-lease-duration",
    "election",
    metavar="DURATION",
    callback=options.meaning(timing),
    default=f"{CLIENT_GO_TIMING.lease_seconds}s",
    show_default=True,
    help="How long the other replicas wait for a leader that does not renew its lease.",
)
@connection.target_options
@process_options
def command(
    target: Target,
    process: ServingProcess,
    gates: Gates,
    settings: BootImageSettings,
    clouds: CloudAccess,
    prepull: PrePullSettings,
    pruner: PrunerSettings,
    election: Timing,
) -> None:
    """Run the controllers. --namespace is the namespace of the Lease; default: the pod's."""
    # The manifests set both variables from the fields of the controller's own pod.
    pod_name, node_name = (os.environ.get(name, "") for name in ("POD_NAME", "NODE_NAME"))
    own = (
        settings,
        clouds,
        replace(prepull, pod_name=pod_name, node_name=node_name),
        replace(pruner, pod_name=pod_name),
    )
    running.run(process.serve(lambda: _run(target, process, gates, own, election)))


async def _run(
    target: Target,
    process: ServingProcess,
    gates: Gates,
    settings: tuple[object, ...],
    election: Timing,
) -> None:
    clock, rng = system_clock(), random.SystemRandom()
    connection = target.found()
    async with (
        process.open_kube(connection) as kube,
        process.open_lease_kube(connection) as lease_kube,
    ):
        runtime = controller.controllers(
            kube=kube,
            clock=clock,
            metrics=process.metrics,
            rng=rng,
            gates=gates,
            namespace=target.default_namespace,
            instance=socket.gethostname(),
            settings=settings,
            elector=controller.elector(
                kube=lease_kube,
                clock=clock,
                metrics=process.metrics,
                rng=rng,
                namespace=target.default_namespace,
                identity=f"{socket.gethostname()}_{uuid.uuid4()}",
                timing=election,
            ),
        )
        await process.run(runtime)
