"""What a client consists of: a rate limit, unless its requests must not wait."""

import pytest

from lading.adapters.kube import connect
from lading.adapters.kube.connection import Connection
from tests.adapters.kube import stand
from tests.adapters.kube.stand import CONFIG_MAPS, HurryingClock


@pytest.mark.parametrize(("per_second", "waits"), [(10.0, 2), (None, 0)])
async def test_only_a_client_with_a_rate_limit_waits(per_second: float | None, waits: int) -> None:
    clock = HurryingClock()
    async with stand.running(*(stand.config_map(),) * 3) as server:
        opened = connect.connect(
            Connection(server=server.url),
            clock,
            requests_per_second=per_second,
            burst_requests=1,
        )
        async with opened as client:
            for _ in range(3):
                await client.get(CONFIG_MAPS, "one", namespace="default")
    assert len(clock.slept_seconds) == waits
