"""Carries out the plans of the cluster by server-side apply. Fields of other managers stay."""

from typing import Any, assert_never

import msgspec

from lading.api.core import NODES
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.kernel.objects import Object, Resource
from lading.pinned_images.cluster import rules
from lading.pinned_images.cluster.types import (
    ApplyMachineConfigNode,
    AssignSetsToPool,
    CreatePool,
    WriteSetStatus,
)
from lading.ports import kube
from lading.ports.kube import Kube

ClusterAction = CreatePool | AssignSetsToPool | WriteSetStatus | ApplyMachineConfigNode
# Without these, a table shows blanks instead of zeros.
_ZERO_COUNTS = {"nodeCount": 0, "readyNodeCount": 0, "failedNodeCount": 0}


async def apply(action: ClusterAction, api: Kube) -> Object | None:
    """The object as it is now; None if another process created it first."""
    match action:
        case CreatePool(name=name, spec=spec):
            return await _create(api, _body(MACHINE_CONFIG_POOLS, name, spec=spec))
        case AssignSetsToPool(pool=name, uid=uid, sets=sets):
            entries = [{"name": one} for one in sets]
            body = _body(MACHINE_CONFIG_POOLS, name, spec={"pinnedImageSets": entries})
            body["metadata"]["uid"] = uid
            return await _apply(api, MACHINE_CONFIG_POOLS, body)
        case WriteSetStatus(image_set=name, resource_version=revision, status=status):
            shown = {**_ZERO_COUNTS, **msgspec.to_builtins(status)}
            body = _body(PINNED_IMAGE_SETS, name, status=shown)
            body["metadata"]["resourceVersion"] = revision
            return await _apply(api, PINNED_IMAGE_SETS, body, subresource="status")
        case ApplyMachineConfigNode():
            return await _apply(api, MACHINE_CONFIG_NODES, _machine_config_node(action))
        case _:
            assert_never(action)


async def _create(api: Kube, body: dict[str, Any]) -> Object | None:
    try:
        return await api.create(MACHINE_CONFIG_POOLS, body)
    except kube.AlreadyExists:
        return None


async def _apply(
    api: Kube, resource: Resource[Object], body: dict[str, Any], *, subresource: str = ""
) -> Object:
    return await api.apply(
        resource, body, field_manager=rules.FIELD_MANAGER, force=True, subresource=subresource
    )


def _body(resource: Resource[Any], name: str, **parts: Any) -> dict[str, Any]:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name},
        **parts,
    }


def _machine_config_node(action: ApplyMachineConfigNode) -> dict[str, Any]:
    node = action.node.metadata
    body = _body(
        MACHINE_CONFIG_NODES,
        node.name,
        spec={"node": {"name": node.name}, "pool": {"name": action.pool}},
    )
    body["metadata"]["ownerReferences"] = [
        {"apiVersion": NODES.api_version, "kind": NODES.kind, "name": node.name, "uid": node.uid}
    ]
    return body
