"""A run of a whole cluster, observed from all sides."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from lading.embedded import cluster
from lading.observability import logs
from lading.observability.logs import LogFormat
from tests.security.places import Run


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Its metrics are those of the controllers and of every node, once the cluster is open."""
    made: list[CollectorRegistry] = []

    def registry() -> CollectorRegistry:
        made.append(CollectorRegistry())
        return made[-1]

    monkeypatch.setattr(cluster, "CollectorRegistry", registry)
    stream = io.StringIO()
    logs.configure(LogFormat.JSON, "debug", stream=stream)
    yield Run(folder=tmp_path, debug_logs=stream, metrics=made)
    logs.configure(LogFormat.CONSOLE, "warning")
