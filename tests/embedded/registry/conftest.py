"""The embedded registry without HTTP, on a folder of its own."""

from pathlib import Path

import pytest

from lading.embedded.registry.core import RegistryCore


@pytest.fixture
def core(tmp_path: Path) -> RegistryCore:
    return RegistryCore.on(tmp_path)
