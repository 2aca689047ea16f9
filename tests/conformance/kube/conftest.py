"""The targets as fixtures, a namespace for every test, and the known differences."""

import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from lading.ports import kube
from tests.conformance.kube import api as api_module
from tests.conformance.kube import differences, targets
from tests.conformance.kube.api import DEFINITIONS, NAMESPACES, WIDGET_DEFINITION, WIDGETS, Api
from tests.conformance.kube.targets import Target

_FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One event loop for the whole folder, since its tests share their servers."""
    for item in items:
        if _FOLDER not in item.path.parents:
            continue
        if pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
        reason = differences.reason(
            item.path.stem, getattr(item, "originalname", ""), _target(item)
        )
        if reason:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


def _target(item: pytest.Item) -> str:
    callspec = getattr(item, "callspec", None)
    return str(callspec.params.get("target", "")) if callspec else ""


@pytest_asyncio.fixture(scope="session", loop_scope="session", params=targets.names())
async def target(request: pytest.FixtureRequest) -> AsyncIterator[Target]:
    async with targets.opened(request.param) as opened:
        await _install_widgets(Api(opened))
        yield opened


@pytest.fixture
def api(target: Target) -> Api:
    return Api(target)


@pytest_asyncio.fixture(loop_scope="session")
async def namespace(api: Api) -> AsyncIterator[str]:
    name = f"conformance-{secrets.token_hex(4)}"
    await api.client.create(NAMESPACES, {"metadata": {"name": name}})
    yield name
    try:
        await api.client.delete(NAMESPACES, name)
    except (kube.NotFound, kube.Conflict):
        return


@pytest.fixture
def unique() -> str:
    """A name for something outside of namespaces."""
    return f"conformance-{secrets.token_hex(4)}"


async def _install_widgets(api: Api) -> None:
    await api.client.apply(DEFINITIONS, WIDGET_DEFINITION, field_manager="conformance", force=True)
    await api_module.served(api, WIDGETS)
