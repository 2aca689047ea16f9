"""Something to try at once: small images in the registry, a set of them, and one to pre-pull."""

from pathlib import Path
from typing import Any

import yaml

from lading import files
from lading.api.longhorn import IMAGES
from lading.kernel import references
from lading.standalone import sample_images, sample_sets
from lading.standalone.cluster import StandaloneCluster

SET_FILE, IMAGE_FILE = "first-set.yaml", "first-image.yaml"
IMAGE_COUNT = 3
IMAGE_BYTES = 1024 * 1024


async def write(cluster: StandaloneCluster, data: Path) -> None:
    """Does nothing where the manifests are there already, for this registry."""
    manifests = (data / SET_FILE, data / IMAGE_FILE)
    if all(_names(file, cluster.registry_host) for file in manifests):
        return
    images = [await _push(cluster, f"first/app-{number + 1}") for number in range(IMAGE_COUNT)]
    for file, content in zip(
        manifests, (sample_sets.set_of("first", images), _image_of("first", images[0])), strict=True
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
    """The image by its digest."""
    made = sample_images.image([{"content": sample_images.noise(name, IMAGE_BYTES)}])
    tagged = references.parse(f"{cluster.registry_host}/{name}:v1")
    return str(await sample_images.push(cluster.registries.client, tagged, made))
