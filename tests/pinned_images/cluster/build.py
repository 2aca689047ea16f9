"""Builders of a cluster's objects, and plans made from them by the real reconcilers.

Every field that a test writes matters there.
"""

import asyncio
import random
from datetime import UTC, datetime
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry

from lading.adapters.clock import VirtualClock
from lading.adapters.kube.client import KubeClient
from lading.api.core import NODES, Node
from lading.api.machineconfiguration.machine_config_node import (
    MACHINE_CONFIG_NODES,
    MachineConfigNode,
)
from lading.api.machineconfiguration.machine_config_pool import (
    MACHINE_CONFIG_POOLS,
    MachineConfigPool,
)
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS, PinnedImageSet
from lading.kernel.objects import Key
from lading.kernel.pacing import Pacing
from lading.kernel.planning import Plan
from lading.kernel.values import replace
from lading.loop.informer import Informer
from lading.loop.pool_contributions import PoolContributions
from lading.loop.recorder import EventRecorder
from lading.observability.metrics import Metrics
from lading.pinned_images import membership
from lading.pinned_images.cluster import plan, rules
from lading.pinned_images.cluster.controller import (
    FleetTools,
    MachineConfigNodeReconciler,
    PoolSetsReconciler,
    SetReconciler,
)
from lading.pinned_images.cluster.fleet import ClusterCaches, Fleet
from lading.pinned_images.cluster.types import (
    ObservedNode,
    ObservedPoolSets,
    ObservedSet,
)
from lading.pools import plan as pools
from lading.pools.controller import PoolStatusReconciler
from lading.pools.types import ObservedPool
from lading.ports.http import Request, Response

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ROLE = "machineconfiguration.openshift.io/role"
IMAGE = "quay.io/app@sha256:" + "a" * 64


def images(count: int) -> list[dict[str, str]]:
    """Of a set, each another one."""
    return [{"name": f"quay.io/app@sha256:{number:064}"} for number in range(count)]


def node(name: str, *, ready: bool = True, control_plane: bool = False, **labels: str) -> Node:
    if control_plane:
        labels = {**labels, membership.CONTROL_PLANE_LABEL: ""}
    return msgspec.convert(
        {
            "metadata": {"name": name, "uid": f"uid-{name}", "labels": labels},
            "status": {"conditions": [{"type": "Ready", "status": str(ready)}]},
        },
        Node,
    )


def pool(name: str = "worker", sets: tuple[str, ...] = (), **spec: Any) -> MachineConfigPool:
    body = {**plan.DEFAULT_POOLS["worker"], "pinnedImageSets": [{"name": one} for one in sets]}
    metadata = {
        "name": name,
        "uid": f"uid-{name}",
        "generation": spec.pop("generation", 4),
        "managedFields": spec.pop("managed", []),
    }
    return msgspec.convert({"metadata": metadata, "spec": {**body, **spec}}, MachineConfigPool)


def image_set(
    name: str = "s", *, role: str = "worker", generation: int = 1, uid: str = "", **spec: Any
) -> PinnedImageSet:
    return msgspec.convert(
        {
            "metadata": {
                "name": name,
                "uid": uid or f"uid-{name}",
                "generation": generation,
                "labels": {ROLE: role},
            },
            "spec": {"pinnedImages": [{"name": IMAGE}], **spec},
        },
        PinnedImageSet,
    )


def machine_config_node(
    name: str,
    *,
    holds: dict[str, int] | None = None,
    error: str = "",
    reason: str = "PrefetchFailed",
    degraded: bool | None = None,
) -> MachineConfigNode:
    sets: list[dict[str, Any]] = [
        {
            "name": one,
            "uid": f"uid-{one}",
            "currentGeneration": number,
            "desiredGeneration": number,
        }
        for one, number in (holds or {}).items()
    ]
    if error:
        sets = [
            {
                "name": "s",
                "uid": "uid-s",
                "desiredGeneration": 1,
                "lastFailedGeneration": 1,
                "lastFailedGenerationErrors": [error],
            }
        ]
    wrong = bool(error) if degraded is None else degraded
    condition = {"type": "PinnedImageSetsDegraded", "status": str(wrong), "reason": reason}
    return msgspec.convert(
        {
            "metadata": {
                "name": name,
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "Node", "name": name, "uid": f"uid-{name}"}
                ],
            },
            "spec": {"node": {"name": name}, "pool": {"name": "worker"}},
            "status": {"conditions": [{**condition, "message": error}], "pinnedImageSets": sets},
        },
        MachineConfigNode,
    )


def applied(*names: str, by: str = rules.FIELD_MANAGER) -> list[dict[str, Any]]:
    fields: dict[str, Any] = {f'k:{{"name":"{name}"}}': {".": {}, "f:name": {}} for name in names}
    return [
        {
            "manager": by,
            "operation": "Apply",
            "fieldsV1": {"f:spec": {"f:pinnedImageSets": fields}},
        }
    ]


def only(found: Plan, type_: type[Any]) -> Any:
    actions = [action for action in found.actions if isinstance(action, type_)]
    assert len(actions) <= 1
    return actions[0] if actions else None


def empty_caches() -> ClusterCaches:
    return ClusterCaches(
        nodes=Informer(NODES),
        pools=Informer(MACHINE_CONFIG_POOLS),
        sets=Informer(PINNED_IMAGE_SETS),
        machine_config_nodes=Informer(MACHINE_CONFIG_NODES),
    )


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """Objects as the caches show them, and what the reconcilers remember."""

    nodes: tuple[Node, ...] = ()
    pools: tuple[MachineConfigPool, ...] = ()
    sets: tuple[PinnedImageSet, ...] = ()
    machine_config_nodes: tuple[MachineConfigNode, ...] = ()
    status_at: datetime | None = None
    is_on: bool = True

    def caches(self) -> ClusterCaches:
        made = empty_caches()
        for node_ in self.nodes:
            made.nodes.put(node_)
        for pool_ in self.pools:
            made.pools.put(pool_)
        for one in self.sets:
            made.sets.put(one)
        for report in self.machine_config_nodes:
            made.machine_config_nodes.put(report)
        return made


async def no_server(request: Request) -> Response:
    raise AssertionError(f"planning sends nothing: {request.method} {request.path}")


def recorder(kube: KubeClient, clock: VirtualClock) -> EventRecorder:
    return EventRecorder(
        kube=kube,
        clock=clock,
        rng=random.Random(1),
        metrics=Metrics(CollectorRegistry()),
        controller="test",
        instance="test",
    )


def plan_node(name: str, cluster: Cluster) -> Plan:
    async def observed() -> ObservedNode | None:
        return await MachineConfigNodeReconciler(_tools(cluster)).observe(Key("", name))

    found = asyncio.run(observed())
    return plan.plan_node(found) if found else Plan()


def plan_pool(name: str, cluster: Cluster) -> Plan:
    """Which sets are assigned to the pool."""

    async def observed() -> ObservedPoolSets | None:
        return await PoolSetsReconciler(_tools(cluster)).observe(Key("", name))

    found = asyncio.run(observed())
    assert found is not None
    return plan.plan_pool(found)


def plan_pool_status(name: str, cluster: Cluster, now: datetime) -> Plan:
    """By the one writer of the status of pools, from the facts of pinned images."""
    found = observed_pool(name, cluster)
    return pools.plan(found, now) if found else Plan()


def observed_pool(name: str, cluster: Cluster) -> ObservedPool | None:
    async def observed() -> ObservedPool | None:
        tools = _tools(cluster)
        contributions = PoolContributions()
        contributions.place().settle(tools.fleet)
        made = PoolStatusReconciler(
            pools=tools.caches.pools,
            contributions=contributions,
            kube=tools.kube,
            clock=tools.clock,
            recorder=tools.recorder,
            pacing=Pacing(),
        )
        return await made.observe(Key("", name))

    found = asyncio.run(observed())
    return replace(found, status_at=cluster.status_at) if found else None


def plan_set(name: str, cluster: Cluster, now: datetime) -> Plan:
    found = observed_set(name, cluster)
    return plan.plan_set(found, now) if found else Plan()


def observed_set(name: str, cluster: Cluster) -> ObservedSet | None:
    async def observed() -> ObservedSet | None:
        return await SetReconciler(_tools(cluster)).observe(Key("", name))

    found = asyncio.run(observed())
    return replace(found, status_at=cluster.status_at) if found else None


def tools(
    kube: KubeClient, caches: ClusterCaches, *, is_on: bool = True, start: datetime = NOW
) -> FleetTools:
    clock = VirtualClock(start)
    return FleetTools(
        caches=caches,
        fleet=Fleet(caches),
        kube=kube,
        clock=clock,
        recorder=recorder(kube, clock),
        is_on=is_on,
        pacing=Pacing(),
    )


def _tools(cluster: Cluster) -> FleetTools:
    return tools(KubeClient(no_server), cluster.caches(), is_on=cluster.is_on)
