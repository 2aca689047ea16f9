"""Each way to an API server passes the same tests."""

import functools

import pytest

from lading.adapters.kube.exchange import NetworkExchange
from tests.adapters.kube.stand import Network


@pytest.fixture(params=[False, True], ids=["by aiohttp", "by streams"])
def network(request: pytest.FixtureRequest) -> Network:
    return functools.partial(NetworkExchange, is_brief=request.param)
