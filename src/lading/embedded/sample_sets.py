"""PinnedImageSets for the demo and for tests, and the first manifests that `lading up` writes."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from lading import files
from lading.api.longhorn import IMAGES
from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.embedded import sample_images
from lading.embedded.cluster import StandaloneCluster
from lading.kernel import references

SET_FILE, IMAGE_FILE = "first-set.yaml", "first-image.yaml"
IMAGE_COUNT = 3
IMAGE_BYTES = 1024 * 1024


def set_of(name: str, images: Iterable[str]) -> dict[str, Any]:
    return {
        "apiVersion": PINNED_IMAGE_SETS.api_version,
        "kind": PINNED_IMAGE_SETS.kind,
        "metadata": {"name": name, "labels": {group.ROLE_LABEL: "worker"}},
        "spec": {"pinnedImages": [{"name": image} for image in images]},
    }


async def write_first(cluster: StandaloneCluster, data: Path) -> None:
    """Pushes small images and writes a set of them and one Image, unless the files exist."""
    manifests = (data / SET_FILE, data / IMAGE_FILE)
    if all(_names(file, cluster.registry_host) for file in manifests):
        return
    images = [await _push(cluster, f"first/app-{number + 1}") for number in range(IMAGE_COUNT)]
    for file, content in zip(
        manifests, (set_of("first", images), _image_of("first", images[0])), strict=True
    ):
        files.write_atomically(file, yaml.safe_dump(content, sort_keys=False).encode())


def _image_of(name: str, url: str) -> dict[str, Any]:
    return {
        "apiVersion": IMAGES.api_version,
        "kind": IMAGES.kind,
        "metadata": {"name": name},
        "spec": {"imageURL": url},
    }


def _names(file: Path, registry_host: str) -> bool:
    return file.exists() and registry_host.encode() in file.read_bytes()


async def _push(cluster: StandaloneCluster, name: str) -> str:
    """Returns the image by its digest."""
    made = sample_images.image([{"content": sample_images.noise(name, IMAGE_BYTES)}])
    tagged = references.parse(f"{cluster.registry_host}/{name}:v1")
    return str(await sample_images.push(cluster.registries.client, tagged, made))
