"""The embedded registry without HTTP, on a folder of its own."""

from pathlib import Path

import pytest

from lading.servers.registry.core import Core


@pytest.fixture
def core(tmp_path: Path) -> Core:
    return Core.on(tmp_path)
