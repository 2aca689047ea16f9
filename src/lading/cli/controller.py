"""`lading controller`: the cluster's controllers, one of several replicas leading at a time."""

import os
import random
import socket
import uuid

import click

from lading.boot_images.types import BootImageSettings, CloudAccess
from lading.cli import connection, feature_options, options, running
from lading.cli.bootimage.settings import ec2_options, settings_options
from lading.cli.connection import Target
from lading.cli.options import Removed
from lading.cli.prepull.settings import prepull_options
from lading.cli.process import REMOVED_LOG_FORMAT, ServingProcess, process_options
from lading.cli.prune.pruner_settings import pruner_options
from lading.kernel.feature_gates import Gates
from lading.kernel.values import replace
from lading.prepull.types import PrePullSettings
from lading.pruning.operator.types import PrunerSettings
from lading.wiring import controller
from lading.wiring.clock import system_clock

_ELECTION = Removed("leader election has the times of client-go", has_value=True)
_OWN_POD = Removed("the variables POD_NAME and NODE_NAME name them", has_value=True)
_REMOVED = {
    "--boot-images-namespace": Removed(
        "the namespace of ConfigMap coreos-bootimages is fixed", has_value=True
    ),
    "--keep-unused-templates": Removed("the period is fixed", has_value=True),
    "--leader-elect-lease-duration": _ELECTION,
    "--leader-elect-renew-deadline": _ELECTION,
    "--leader-elect-retry-period": _ELECTION,
    "--log-format": REMOVED_LOG_FORMAT,
    "--node-name": _OWN_POD,
    "--pod-name": _OWN_POD,
    "--machine-namespace": Removed(
        "OpenShift reads machine sets only in openshift-machine-api", has_value=True
    ),
}


@click.command(name="controller", cls=options.with_former_options(removed=_REMOVED))
@feature_options.feature_gates_option()
@settings_options
@ec2_options
@prepull_options
@pruner_options
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
    running.run(process.serve(lambda: _run(target, process, gates, own)))


async def _run(
    target: Target,
    process: ServingProcess,
    gates: Gates,
    settings: tuple[object, ...],
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
            ),
        )
        await process.run(runtime)
