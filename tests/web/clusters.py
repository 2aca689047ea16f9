"""Objects of a cluster that the dashboard shows, and a dashboard that follows them."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.api.core import NODES
from lading.api.imageregistry import IMAGE_PRUNERS
from lading.api.longhorn import IMAGES
from lading.api.machineconfiguration.boot_image_history import MACHINE_SET_BOOT_IMAGE_HISTORIES
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.kernel.objects import Resource
from lading.loop import tasks
from lading.ports.kube import Kube
from lading.web.dashboard import Dashboard

WAIT_SECONDS_MAX = 60.0
WORKER = {"node-role.kubernetes.io/worker": ""}
IMAGE = f"registry.example.com/app@sha256:{'a' * 64}"


async def create(
    api: KubeClient, resource: Resource[Any], name: str, *, namespace: str = "", **fields: Any
) -> Any:
    status = fields.pop("status", None)
    metadata = {"name": name, **fields.pop("metadata", {})}
    body = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": metadata,
        **fields,
    }
    made = await api.create(resource, body, namespace=namespace)
    if status is not None:
        made = await api.patch(
            resource, name, {"status": status}, namespace=namespace, subresource="status"
        )
    return made


async def create_pool(api: KubeClient, *sets: str) -> None:
    spec = {
        "nodeSelector": {"matchLabels": WORKER},
        "pinnedImageSets": [{"name": name} for name in sets],
    }
    await create(api, MACHINE_CONFIG_POOLS, "worker", spec=spec)


async def create_set(api: KubeClient, name: str, **fields: Any) -> str:
    """Returns its uid."""
    spec = {"pinnedImages": [{"name": IMAGE}]}
    made = await create(api, PINNED_IMAGE_SETS, name, spec=spec, **fields)
    uid: str = made.metadata.uid
    return uid


async def create_node(api: KubeClient, name: str, **fields: Any) -> None:
    await create(api, NODES, name, metadata={"labels": WORKER}, **fields)


def pinned(name: str, uid: str, **fields: Any) -> dict[str, Any]:
    counts = {"imageCount": 1, "presentImageCount": 1}
    generations = {"currentGeneration": 1, "desiredGeneration": 1}
    return {"name": name, "uid": uid, **generations, **counts, **fields}


def failed(name: str, uid: str, error: str) -> dict[str, Any]:
    return {
        "name": name,
        "uid": uid,
        "desiredGeneration": 1,
        "imageCount": 1,
        "lastFailedGeneration": 1,
        "lastFailedGenerationErrors": [error],
    }


def degraded(is_degraded: bool, reason: str = "Tested") -> dict[str, Any]:
    return {
        "type": "PinnedImageSetsDegraded",
        "status": str(is_degraded),
        "reason": reason,
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }


async def report(
    api: KubeClient, node: str, *entries: dict[str, Any], bad: bool = False, reason: str = "Tested"
) -> None:
    """What the agent of a node writes."""
    await create(
        api,
        MACHINE_CONFIG_NODES,
        node,
        spec={"node": {"name": node}, "pool": {"name": "worker"}},
        status={"pinnedImageSets": list(entries), "conditions": [degraded(bad, reason)]},
    )


async def create_image(api: KubeClient, name: str, **status: Any) -> None:
    spec = {"imageURL": "registry.example.com/share-manager:1.0"}
    await create(api, IMAGES, name, namespace="default", spec=spec, status=status)


async def create_history(api: KubeClient, name: str, **status: Any) -> None:
    spec = {
        "machineSetName": name,
        "machineSetNamespace": "default",
        "machineSetApiGroup": "machine.openshift.io",
        "details": [
            {"index": 0, "updatedTime": "2026-01-01T00:00:00Z", "bootImageRef": "old-image"},
            {"index": 1, "updatedTime": "2026-02-01T00:00:00Z", "bootImageRef": "new-image"},
        ],
    }
    resource = MACHINE_SET_BOOT_IMAGE_HISTORIES
    await create(api, resource, name, namespace="default", spec=spec, status=status)


async def create_pruner(api: KubeClient, *, message: str = "", **more: Any) -> None:
    """With the report of one run."""
    run = {
        "name": "local",
        "job": "image-pruner-1",
        "phase": "Succeeded",
        "message": message,
        "startTime": "2026-01-01T00:00:00Z",
        "deleted": 2,
        "freedBytes": 4096,
        "kept": {"Used": 7, "Young": 2},
    }
    status = {"schedule": "0 0 * * *", "lastJob": "image-pruner-1", "lastRun": [run], **more}
    await create(api, IMAGE_PRUNERS, "cluster", spec={}, status=status)


@asynccontextmanager
async def following(client: Kube, **options: Any) -> AsyncIterator[Dashboard]:
    dashboard = Dashboard(client, SystemClock(), **options)
    async with tasks.started(dashboard.run()) as running:
        yield dashboard
        assert not running.done(), running.exception()


def shown(dashboard: Dashboard) -> dict[str, dict[str, Any]]:
    """What a page would get that opens now."""
    _, _, data = dashboard.hub.snapshot().decode().partition("data: ")
    found: dict[str, dict[str, Any]] = json.loads(data)["put"]
    return found


async def until(
    dashboard: Dashboard, is_so: Callable[[dict[str, dict[str, Any]]], Any]
) -> dict[str, dict[str, Any]]:
    """What is shown as soon as it is so."""
    with dashboard.hub.subscribed() as page:
        async with asyncio.timeout(WAIT_SECONDS_MAX):
            while not _holds(is_so, found := shown(dashboard)):
                page.take()
                await page.wait()
    return found


def _holds(
    is_so: Callable[[dict[str, dict[str, Any]]], Any], found: dict[str, dict[str, Any]]
) -> bool:
    """What is not there yet is not so."""
    try:
        return bool(is_so(found))
    except KeyError:
        return False
