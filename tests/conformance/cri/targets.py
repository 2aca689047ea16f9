"""The runtimes that the suite runs on, each with a registry that it can pull from.

Without any setting that is the embedded service with the embedded registry. With
CONFORMANCE_CRI=unix:///SOCKET the suite runs on that runtime instead; CONFORMANCE_CRI_REGISTRY
is then a plain-HTTP registry, HOST:PORT, that the runtime may use. For the pins of CRI-O it also
needs CONFORMANCE_CRIO_DROP_INS=FOLDER.
"""

import contextlib
import os
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lading.adapters.clock import SystemClock
from lading.adapters.cri import pins_crio
from lading.adapters.cri.client import CriClient
from lading.adapters.cri.crio_config import CrioConfig
from lading.adapters.cri.pins_containerd import ContainerdPins
from lading.adapters.cri.pins_crio import CrioPins
from lading.adapters.registry import client as registry_client
from lading.embedded import sample_images
from lading.embedded.cri import server as cri_server
from lading.embedded.cri.core import EmbeddedRuntime
from lading.embedded.registry import server as registry_server
from lading.embedded.sample_images import SampleImage
from lading.kernel import platforms, references
from lading.ports.cri import Pins
from lading.ports.registry import Registry
from lading.wire import calls

ENDPOINT_VARIABLE = "CONFORMANCE_CRI"
REGISTRY_VARIABLE = "CONFORMANCE_CRI_REGISTRY"
CRIO_DROP_INS_VARIABLE = "CONFORMANCE_CRIO_DROP_INS"

HANDLER = "arm-guests"
"""A handler of the embedded service with linux/arm64 guests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    name: str
    """What the runtime calls itself: lading, containerd or cri-o."""
    release: str
    cri: CriClient
    pins: Pins
    registry: Registry
    registry_host: str

    async def push(self, sample: SampleImage, name: str) -> str:
        """Puts an image into the registry; returns its whole name."""
        reference = references.parse(f"{self.registry_host}/{name}")
        await sample_images.push(self.registry, reference, sample)
        return str(reference)


@contextlib.asynccontextmanager
async def opened(
    folder: Path, environment: Mapping[str, str] = os.environ
) -> AsyncIterator[Target]:
    open_target = _real if environment.get(ENDPOINT_VARIABLE) else _embedded
    async with open_target(folder, environment) as target:
        yield target


@contextlib.asynccontextmanager
async def _embedded(folder: Path, environment: Mapping[str, str]) -> AsyncIterator[Target]:
    async with (
        registry_server.serve(folder / "registry") as url,
        registry_client.connect(SystemClock()) as registry,
    ):
        runtime = EmbeddedRuntime(
            root=folder / "images",
            registry=registry,
            clock=SystemClock(),
            platform=platforms.parse("linux/amd64"),
            guests={HANDLER: platforms.parse("linux/arm64")},
        )
        with contextlib.closing(runtime):
            async with (
                cri_server.serve(runtime, folder / "cri.sock") as endpoint,
                calls.channel_to(endpoint) as channel,
            ):
                host = url.removeprefix("http://")
                yield await _target(channel, registry, host, environment)


@contextlib.asynccontextmanager
async def _real(folder: Path, environment: Mapping[str, str]) -> AsyncIterator[Target]:
    async with (
        registry_client.connect(SystemClock()) as registry,
        calls.channel_to(environment[ENDPOINT_VARIABLE]) as channel,
    ):
        yield await _target(channel, registry, environment[REGISTRY_VARIABLE], environment)


async def _target(
    channel: calls.Channel,
    registry: Registry,
    registry_host: str,
    environment: Mapping[str, str],
) -> Target:
    cri_client = CriClient(channel)
    version = await cri_client.version()
    is_crio = version.name == "cri-o"
    return Target(
        name=version.name,
        release=version.version,
        cri=cri_client,
        pins=_crio_pins(cri_client, environment)
        if is_crio
        else ContainerdPins(channel, cri_client, SystemClock()),
        registry=registry,
        registry_host=registry_host,
    )


def _crio_pins(cri_client: CriClient, environment: Mapping[str, str]) -> CrioPins:
    drop_ins = Path(environment[CRIO_DROP_INS_VARIABLE])
    return CrioPins(
        cri_client,
        config=CrioConfig(main_file=drop_ins.parent / "crio.conf", drop_in_folder=drop_ins),
        reload=pins_crio.by_signal(environment[ENDPOINT_VARIABLE]),
        clock=SystemClock(),
    )
