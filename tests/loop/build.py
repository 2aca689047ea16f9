"""Objects for tests: every field that is written there matters there."""

from typing import Any

from lading.adapters.kube.client import KubeClient
from lading.api.core import CONFIG_MAPS, ConfigMap
from lading.kernel.objects import Key

NAMESPACE = "images"


def key(name: str) -> Key:
    return Key(NAMESPACE, name)


def config_map(name: str, **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


async def create(kube: KubeClient, name: str, **data: str) -> ConfigMap:
    return await kube.create(CONFIG_MAPS, config_map(name, **data), namespace=NAMESPACE)


async def change(kube: KubeClient, name: str, **data: str) -> ConfigMap:
    return await kube.patch(CONFIG_MAPS, name, {"data": data}, namespace=NAMESPACE)


async def delete(kube: KubeClient, name: str) -> None:
    await kube.delete(CONFIG_MAPS, name, namespace=NAMESPACE)
