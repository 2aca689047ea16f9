"""What the tests of the image commands share: layers, expected output, containers in use."""

import textwrap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lading.embedded import sample_images
from lading.embedded.registry import server as registry_server
from lading.embedded.registry.access import Passwords
from lading.kernel import references
from lading.kernel.references import Reference
from lading.ports.cri import Container, ContainerState, ImageSpec
from lading.ports.registry import Credential
from tests.runtime_images.conftest import Stand

LAYERS = {
    "linux/amd64": [sample_images.noise("host", size_bytes=100_000)],
    "linux/arm64": [sample_images.noise("guest", size_bytes=2_000_000)],
}


AT_ONCE = ("--all", "--keep-younger-than", "0s")


def golden(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n")


async def handlers(stand: Stand) -> list[str]:
    return sorted(image.runtime_handler for image in await stand.runtime.images())


async def arm_image_id(stand: Stand) -> str:
    (arm,) = [image for image in await stand.runtime.images() if image.runtime_handler]
    return arm.id


def declare_in_use(stand: Stand, image_id: str) -> None:
    spec = ImageSpec(image=image_id, runtime_handler="arm")
    running = ContainerState.RUNNING
    web = Container(id="1", name="web", state=running, image=spec, image_id=image_id)
    stand.embedded.declare_containers([web])


@asynccontextmanager
async def guarded(stand: Stand) -> AsyncIterator[Reference]:
    """An image that only carol may pull."""
    guard = Passwords({"carol": "right"})
    async with registry_server.serve(stand.folder / "guarded", guard=guard) as url:
        app = references.parse(f"{url.removeprefix('http://')}/team/app:1")
        allowed = stand.registry.with_credential(Credential(username="carol", password="right"))
        await sample_images.push(allowed, app, sample_images.image([{"file": b"content"}]))
        yield app
