"""The status of pools as a feature: it has no gate, because every feature may contribute to it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.machine_config_pool import (
    MACHINE_CONFIG_POOL,
    MACHINE_CONFIG_POOLS,
)
from lading.api.rbac import Right
from lading.loop.feature import Context, Feature, Kind, Part, Work
from lading.pools.types import PoolSettings

CONTROLLER = "pools"


@asynccontextmanager
async def _open(context: Context) -> AsyncIterator[Work]:
    from lading.pools import controller as pools

    settings = context.setting(PoolSettings) or PoolSettings()
    informer = context.informers.of(MACHINE_CONFIG_POOLS)
    reconciler = pools.PoolStatusReconciler(
        pools=informer,
        contributions=context.pools,
        kube=context.kube,
        clock=context.clock,
        recorder=context.recorder,
        settings=settings,
    )
    controller = context.controller(name=CONTROLLER, reconcile=reconciler.reconcile)
    pools.watch(controller, informer, context.pools, settings)
    writer = pools.PoolStatusWriter(controller=controller, contributions=context.pools)
    yield Work(controllers=(writer,))


FEATURE = Feature(
    name="pools",
    gate=None,
    summary="Writes the status of MachineConfigPools from what the other features report.",
    owns=(MACHINE_CONFIG_POOL,),
    controller=(
        Part(
            open=_open,
            reads=(Kind(resource=MACHINE_CONFIG_POOLS),),
            rights=(
                Right(group=group.NAME, resources=("machineconfigpools/status",), verbs=("patch",)),
            ),
        ),
    ),
)
