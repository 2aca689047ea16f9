"""The images of the preload bench: 1 to 60 MB, most of them small, families that share a base.

The content is the same on every machine and does not compress, so that bytes on the line, bytes
unpacked and bytes on disk are about the same.
"""

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.embedded import sample_images
from lading.embedded.sample_images import SampleImage
from lading.kernel import references
from lading.wiring import host

IMAGES = 60
IMAGES_PER_FAMILY = 10
SMALLEST_BYTES = 1_000_000
LARGEST_BYTES = 60_000_000
SKEW = 9  # the median image has 1 MB then and the mean one 7 MB
OWN_LAYER_SHARES = (0.9, 0.1)  # a program, and what configures it
REPOSITORY = "bench/preload"


def size_bytes(rank: int) -> int:
    """The size of the image that has this many smaller ones."""
    share = (rank / (IMAGES - 1)) ** SKEW
    return SMALLEST_BYTES + int((LARGEST_BYTES - SMALLEST_BYTES) * share)


def ranks() -> list[int]:
    """A list of images is not sorted by size: 37 has no factor in common with 60."""
    return [position * 37 % IMAGES for position in range(IMAGES)]


def image(rank: int) -> SampleImage:
    """The base that it shares with its family is half of the family's smallest image."""
    family = rank // IMAGES_PER_FAMILY
    base_bytes = size_bytes(family * IMAGES_PER_FAMILY) // 2
    own_bytes = size_bytes(rank) - base_bytes
    base = {"base": sample_images.noise(f"base of {family}", base_bytes)}
    own = [
        {f"own{share}": sample_images.noise(f"{share} of {rank}", int(own_bytes * share))}
        for share in OWN_LAYER_SHARES
    ]
    return sample_images.image([base, *own], platform=host.machine_platform())


async def push(host: str) -> tuple[list[str], int]:
    """The images as `repository@digest` in the order of the list, and the bytes to pull for all."""
    names: list[str] = []
    blobs: dict[str, int] = {}
    async with registry_client.connect(SystemClock()) as registry:
        for rank in ranks():
            made = image(rank)
            tagged = references.parse(f"{host}/{REPOSITORY}:{rank}")
            await sample_images.push(registry, tagged, made)
            names.append(f"{REPOSITORY}@{made.digest}")
            blobs |= {str(blob.digest): blob.size_bytes for blob, _ in made.blobs}
    return names, sum(blobs.values())
