"""Scenarios with images that only those may pull who have a credential."""

import pytest

from lading.pinned_images.reasons import Reason
from tests.e2e import expectations
from tests.e2e.cluster import ClusterUnderTest


@pytest.mark.asyncio(loop_scope="session")
class PrivateImageScenarios:
    async def test_a_private_image_is_preloaded_once_there_is_a_pull_secret(
        self, cluster: ClusterUnderTest
    ) -> None:
        image = await cluster.private.push("team/private")
        await cluster.make_set("private", image)
        for node in cluster.nodes:
            await expectations.until_degraded(cluster, node, Reason.PREFETCH_FAILED, naming=image)
        cluster.private.make_secret()
        await cluster.until_done("private")
        for node in cluster.nodes:
            assert image in await node.pinned()
