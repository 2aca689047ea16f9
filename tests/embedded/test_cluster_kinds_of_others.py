"""With managed boot images on, machine sets exist on a cluster that no operator installed."""

from pathlib import Path

import pytest

from lading.adapters.clock import SystemClock
from lading.api.machine import MACHINE_SETS
from lading.embedded.cluster import ClusterOptions, open_cluster
from lading.ports import kube
from lading.wiring.gates import parse_gates


async def is_served(folder: Path, gates: str) -> bool:
    options = ClusterOptions(data=folder, nodes=(), gates=parse_gates(gates))
    async with open_cluster(options, SystemClock()) as cluster:
        try:
            await cluster.kube.page(MACHINE_SETS)
        except kube.NotFound:
            return False
        return True


@pytest.mark.parametrize(("gates", "served"), [("", False), ("ManagedBootImages=true", True)])
async def test_machine_sets_are_served_where_the_gate_is_on(
    tmp_path: Path, gates: str, served: bool
) -> None:
    assert await is_served(tmp_path, gates) == served
    assert await is_served(tmp_path, gates) == served  # started again on the same folder
