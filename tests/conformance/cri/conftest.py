"""The target and a repository of its own for every test; known differences are expected."""

import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.conformance.cri import differences, targets
from tests.conformance.cri.targets import Target


@pytest.fixture
async def target(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Target]:
    async with targets.opened(tmp_path) as target:
        reason = differences.reason(
            test=request.node.originalname, runtime=target.name, release=target.release
        )
        if reason:
            request.node.add_marker(pytest.mark.xfail(reason=reason, strict=True))
        yield target


@pytest.fixture
def repository() -> str:
    """Unique, so that a runtime that keeps its images between tests does not know it yet."""
    return f"conformance/{secrets.token_hex(6)}"
