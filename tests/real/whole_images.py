"""Whether a registry has an image whole: every manifest and blob of it, byte for byte."""

from lading.adapters.registry.client import RegistryClient
from lading.embedded.sample_images import SampleImage
from lading.kernel.references import Reference


async def check(client: RegistryClient, reference: Reference, image: SampleImage) -> None:
    assert await client.manifest(reference) == image.manifest
    for descriptor, content in image.blobs:
        got = [piece async for piece in client.blob(reference, descriptor)]
        assert b"".join(got) == content
    for child in image.children:
        await check(client, reference.at(child.digest), child)
