"""The images of a simulation, and their way into and out of its registry."""

import functools
from contextlib import suppress

from lading.embedded import sample_images
from lading.embedded.registry.core import RegistryCore
from lading.embedded.registry.faults import Fault
from lading.embedded.sample_images import SampleImage
from lading.kernel.manifests import OCI_MANIFEST

COUNT = 8
HOST = "localhost:5000"
"""On this machine, so that clients use plain HTTP."""


@functools.cache
def sample(name: str) -> SampleImage:
    """All images share a layer."""
    return sample_images.image([{"base": b"base"}, {"name": name.encode()}])


def by_digest(name: str) -> str:
    return f"{HOST}/{name}@{sample(name).digest}"


def push(registry: RegistryCore, name: str) -> None:
    one = sample(name)
    for descriptor, content in one.blobs:
        if not registry.blobs.contains(name, descriptor.digest):
            registry.blobs.write(descriptor.digest, content)
            registry.blobs._link(name, descriptor.digest, descriptor.digest)  # noqa: SLF001
    registry.manifests.put(name, "v1", one.manifest.content, media_type=OCI_MANIFEST, tags=[])


def delete(registry: RegistryCore, name: str) -> None:
    with suppress(Fault):
        registry.manifests.delete(name, str(sample(name).digest))
