"""The placeholder for Lading's own image, which `lading up` pushes to its registry.

A node recognizes the image by its ID, and runs its commands with the installed program.
"""

import lading
from lading.embedded import sample_images
from lading.embedded.sample_images import SampleImage
from lading.kernel import references
from lading.kernel.platforms import Platform
from lading.kernel.references import Reference
from lading.ports.registry import Registry

REPOSITORY = "lading/lading"
_FILES = {"README": b"lading up runs the commands of this image with its own program.\n"}


def reference(registry_host: str) -> Reference:
    """The name with the tag of this version."""
    return references.parse(f"{registry_host}/{REPOSITORY}:{lading.__version__}")


def ids(platforms: frozenset[Platform]) -> frozenset[str]:
    """The image IDs in a container runtime, one for each platform."""
    return frozenset(str(_config_digest(one)) for one in _images(platforms))


async def push(registry: Registry, registry_host: str, platforms: frozenset[Platform]) -> None:
    """Does nothing if the registry has the image."""
    image = sample_images.index(_images(platforms))
    named = reference(registry_host)
    found = await registry.head(named)
    if found is None or found.digest != image.digest:
        await sample_images.push(registry, named, image)


def _images(platforms: frozenset[Platform]) -> tuple[SampleImage, ...]:
    labels = {"org.opencontainers.image.title": "lading"}
    return tuple(
        sample_images.image([_FILES], platform=platform, labels=labels)
        for platform in sorted(platforms, key=str)
    )


def _config_digest(image: SampleImage) -> object:
    (config, _), *_ = image.blobs
    return config.digest
