"""Something to try at once: small images in the registry, and the manifest of a set of them."""

from pathlib import Path

import yaml

from lading import files
from lading.kernel import references
from lading.standalone import sample_images, sample_sets
from lading.standalone.cluster import StandaloneCluster

IMAGE_COUNT = 3
IMAGE_BYTES = 1024 * 1024


async def write(cluster: StandaloneCluster, file: Path) -> None:
    """Does nothing where the manifest is there already, for this registry."""
    if _names(file, cluster.registry_host):
        return
    images = [await _push(cluster, f"first/app-{number + 1}") for number in range(IMAGE_COUNT)]
    manifest = yaml.safe_dump(sample_sets.set_of("first", images), sort_keys=False)
    files.write_atomically(file, manifest.encode())


def _names(file: Path, registry_host: str) -> bool:
    return file.exists() and registry_host.encode() in file.read_bytes()


async def _push(cluster: StandaloneCluster, name: str) -> str:
    """The image by its digest."""
    made = sample_images.image([{"content": sample_images.noise(name, IMAGE_BYTES)}])
    tagged = references.parse(f"{cluster.registry_host}/{name}:v1")
    return str(await sample_images.push(cluster.registries.client, tagged, made))
