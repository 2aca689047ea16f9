"""An embedded registry with a client of it, and images that are pushed to it."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.embedded import sample_images
from lading.embedded.registry import server as registry_server
from lading.kernel import references
from lading.kernel.references import Reference
from lading.ports.registry import Registry
from lading.wiring.host import machine_platform


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedRegistry:
    host: str
    client: Registry

    def reference(self, name: str) -> Reference:
        return references.parse(f"{self.host}/{name}")

    async def push(self, name: str, layers: Sequence[Mapping[str, bytes]] = ()) -> str:
        """Returns the image by digest."""
        made = sample_images.image(layers or [{"file": name.encode()}], platform=machine_platform())
        return str(await sample_images.push(self.client, self.reference(name), made))


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[ServedRegistry]:
    async with (
        registry_server.serve(tmp_path / "registry") as url,
        registry_client.connect(SystemClock()) as client,
    ):
        yield ServedRegistry(host=url.removeprefix("http://"), client=client)
