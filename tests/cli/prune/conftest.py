"""The cluster of a test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cli.prune import openshift
from tests.cli.prune.openshift import OpenShift


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[OpenShift]:
    async with openshift.opened(tmp_path) as opened:
        yield opened
