"""A client with small limits, and content to ask for."""

from collections.abc import AsyncIterator

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.adapters.registry.client import RegistryClient
from lading.kernel.digests import Digest
from lading.kernel.manifests import OCI_LAYER_GZIP, Descriptor
from tests.adapters.registry import hostile


@pytest.fixture
async def client() -> AsyncIterator[RegistryClient]:
    async with registry_client.connect(SystemClock(), limits=hostile.SMALL) as opened:
        yield opened


@pytest.fixture
def content() -> bytes:
    return bytes(range(256)) * 16


@pytest.fixture
def descriptor(content: bytes) -> Descriptor:
    return Descriptor(media_type=OCI_LAYER_GZIP, digest=Digest.of(content), size_bytes=len(content))
