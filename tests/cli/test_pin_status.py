"""What `lading pin status` makes of what nodes say about themselves."""

from typing import Any

from lading.adapters.kube.client import KubeClient
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.cli.pin import status
from tests.pinned_images import installed_api
from tests.pinned_images.installed_api import api

FAILED = {"desiredGeneration": 2, "lastFailedGeneration": 2}
WITH_ERROR = {**FAILED, "lastFailedGenerationErrors": ["there was no room"]}


__all__ = ["api"]


def condition(type_: str, is_true: bool, message: str = "") -> dict[str, str]:
    return {
        "type": f"PinnedImageSets{type_}",
        "status": str(is_true),
        "reason": "Because",
        "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }


async def row_of(api: KubeClient, entry: dict[str, Any], *, degraded: bool) -> status.Row:
    await installed_api.describe_node(api, "n")
    progressing = condition("Progressing", True, "1 of 4 images are on the node")
    said = {
        "pinnedImageSets": [{"name": "s", **entry}],
        "conditions": [progressing, condition("Degraded", degraded)],
    }
    await api.patch(MACHINE_CONFIG_NODES, "n", {"status": said}, subresource="status")
    (row,) = await status.rows(api)
    return row


async def test_a_set_in_trouble_shows_its_error(api: KubeClient) -> None:
    row = await row_of(api, WITH_ERROR, degraded=True)
    assert (row.generation, row.state, row.detail) == ("-/2", "Failed", "there was no room")


async def test_an_error_that_is_over_no_longer_hides_the_progress(api: KubeClient) -> None:
    row = await row_of(api, WITH_ERROR, degraded=False)
    assert row.state == "Pulling"
    assert row.detail.endswith("1 of 4 images are on the node")


async def test_a_failure_without_a_word_is_shown_all_the_same(api: KubeClient) -> None:
    row = await row_of(api, FAILED, degraded=True)
    assert (row.state, row.detail) == ("Failed", "it failed without a word")


async def test_a_pinned_set_needs_no_words(api: KubeClient) -> None:
    row = await row_of(api, {"currentGeneration": 2, **WITH_ERROR}, degraded=True)
    assert (row.generation, row.state, row.detail) == ("2/2", "Pinned", "")
