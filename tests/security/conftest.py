"""A run of a whole cluster, observed from all sides."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from lading.kernel.backoff import Backoff
from lading.observability import logs
from lading.pinned_images.node import rules
from lading.standalone import cluster
from tests.security.places import Run


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Its metrics are those of the controllers and of every node, once the cluster is open."""
    made: list[CollectorRegistry] = []

    def registry() -> CollectorRegistry:
        made.append(CollectorRegistry())
        return made[-1]

    monkeypatch.setattr(cluster, "CollectorRegistry", registry)
    # A proxy that refuses is reported after several attempts.
    monkeypatch.setattr(rules, "RETRY", Backoff(seconds_min=1, seconds_max=1))
    stream = io.StringIO()
    logs.configure(logs.LogFormat.JSON, "debug", stream=stream)
    yield Run(folder=tmp_path, debug_logs=stream, metrics=made)
    logs.configure(logs.LogFormat.CONSOLE, "warning")
