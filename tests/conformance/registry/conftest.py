"""The target as a fixture, a repository for every test, and the known differences."""

import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from tests.conformance.registry import differences, targets
from tests.conformance.registry.http import Http
from tests.conformance.registry.targets import Target

_FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One event loop for the whole folder, since its tests share their server."""
    for item in items:
        if _FOLDER not in item.path.parents:
            continue
        if pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
        for name in targets.names():
            known = differences.of(getattr(item, "originalname", ""), name)
            if known is not None:
                item.add_marker(pytest.mark.xfail(reason=known.reason, strict=known.always))


@pytest_asyncio.fixture(scope="session", loop_scope="session", params=targets.names())
async def target(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Target]:
    async with targets.opened(request.param, tmp_path_factory.mktemp("registry")) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="session")
async def http(target: Target) -> AsyncIterator[Http]:
    async with aiohttp.ClientSession() as session:
        repository = f"conformance/{secrets.token_hex(4)}"
        yield Http(session=session, url=target.url, repository=repository)
