"""The cluster of a test, and no waiting between attempts."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lading.embedded.registry import server as registry_server
from lading.kernel.backoff import Backoff
from tests.cli.prune import openshift
from tests.cli.prune.openshift import OpenShift


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command tries again at once, and a registry stops at once."""
    monkeypatch.setattr(Backoff, "delay_seconds", lambda *_, **__: 0.01)
    monkeypatch.setattr(registry_server, "SHUTDOWN_SECONDS_MAX", 0.1)


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[OpenShift]:
    async with openshift.opened(tmp_path) as opened:
        yield opened
