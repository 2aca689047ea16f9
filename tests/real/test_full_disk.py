"""A disk that is really full: the same error from every runtime, and nothing half-pulled."""

import contextlib
import pathlib
import secrets
from collections.abc import AsyncIterator

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.cri.client import CriClient
from lading.adapters.registry import client as registry_client
from lading.embedded import sample_images
from lading.embedded.cri.core import EmbeddedRuntime
from lading.kernel import platforms, references
from lading.ports import cri
from lading.ports.cri import Cri, ImageSpec
from lading.ports.registry import Registry
from lading.wire import calls
from tests.real.bed import containerd, crio, disk, registry

DISK_BYTES = 40 * 1024 * 1024
SMALL_BYTES = 1_000_000
LARGE_BYTES = 60_000_000


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("lading", marks=pytest.mark.components("registry")),
        pytest.param("containerd", marks=pytest.mark.components("containerd", "registry")),
        pytest.param("cri-o", marks=pytest.mark.components("cri-o", "registry")),
    ],
)
async def test_an_image_that_does_not_fit_is_no_space_and_others_stay(
    kind: str, registry_3_1: registry.Registry
) -> None:
    with disk.loop_filesystem(DISK_BYTES) as folder:
        async with (
            registry_client.connect(SystemClock()) as registries,
            opened(kind, folder / "root", registry_3_1, registries) as runtime,
        ):
            small = await pushed(registries, registry_3_1.host, SMALL_BYTES)
            large = await pushed(registries, registry_3_1.host, LARGE_BYTES)
            await runtime.pull(ImageSpec(image=small))
            with pytest.raises(cri.NoSpace):
                await runtime.pull(ImageSpec(image=large))
            assert [image.repo_tags for image in await runtime.images()] == [(small,)]
            usage = (await runtime.filesystems()).images[0]
            assert usage.used_bytes < DISK_BYTES


async def pushed(registries: Registry, host: str, size_bytes: int) -> str:
    name = f"{host}/full-disk/{secrets.token_hex(6)}:1"
    sample = sample_images.image([{"file": secrets.token_bytes(size_bytes)}])
    await sample_images.push(registries, references.parse(name), sample)
    return name


@contextlib.asynccontextmanager
async def opened(
    kind: str, root: pathlib.Path, images: registry.Registry, registries: Registry
) -> AsyncIterator[Cri]:
    if kind == "lading":
        embedded = EmbeddedRuntime(
            root=root,
            registry=registries,
            clock=SystemClock(),
            platform=platforms.parse("linux/amd64"),
        )
        with contextlib.closing(embedded):
            yield embedded
        return
    start = crio.crio if kind == "cri-o" else containerd.containerd
    with start(registries=[images], root=root) as running:
        async with calls.channel_to(running.endpoint) as channel:
            yield CriClient(channel)
