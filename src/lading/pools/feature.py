"""The status of pools as a feature. It has no gate, because every feature may contribute."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.machine_config_pool import (
    MACHINE_CONFIG_POOL,
    MACHINE_CONFIG_POOLS,
)
from lading.api.rbac import Right
from lading.kernel.pacing import Pacing
from lading.loop.feature import Component, Context, Feature, Kind, Tasks
from lading.pools import controller as pools

CONTROLLER = "pools"


@asynccontextmanager
async def _open(context: Context) -> AsyncIterator[Tasks]:
    pacing = context.setting(Pacing) or Pacing()
    informer = context.informers.of(MACHINE_CONFIG_POOLS)
    reconciler = pools.PoolStatusReconciler(
        pools=informer,
        contributions=context.pools,
        kube=context.kube,
        clock=context.clock,
        recorder=context.recorder,
        pacing=pacing,
    )
    controller = context.controller(name=CONTROLLER, reconcile=reconciler.reconcile)
    pools.watch(controller, informer, context.pools, pacing.debounce_seconds)
    writer = pools.PoolStatusWriter(controller=controller, contributions=context.pools)
    yield Tasks(controllers=(writer,))


FEATURE = Feature(
    name="pools",
    gate=None,
    summary="Writes the status of MachineConfigPools from what the other features report.",
    owns=(MACHINE_CONFIG_POOL,),
    controller=(
        Component(
            open=_open,
            reads=(Kind(resource=MACHINE_CONFIG_POOLS),),
            rights=(
                Right(group=group.NAME, resources=("machineconfigpools/status",), verbs=("patch",)),
            ),
        ),
    ),
)
