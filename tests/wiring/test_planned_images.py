"""What the journal knows is still asked for, once, when a plan would pull it."""

import shutil
from pathlib import Path

from lading.adapters.clock import SystemClock
from lading.adapters.state_files import FileJournal
from lading.kernel.images import ImageKey
from lading.pinned_images.node.types import PullErrorKind
from lading.wiring import planned_images
from lading.wiring.host import machine_platform
from lading.wiring.planned_images import PlannedImages
from tests.pinned_images.served_registry import ServedRegistry, served

__all__ = ["served"]


def images(served: ServedRegistry, tmp_path: Path) -> PlannedImages:
    return planned_images.of(
        served.client,
        SystemClock(),
        FileJournal(tmp_path / "journal"),
        platform_of=lambda handler: machine_platform(),
    )


async def test_an_image_that_was_there_once_is_asked_for_again(
    served: ServedRegistry, tmp_path: Path
) -> None:
    key = ImageKey(await served.push("app:v1"))
    first = images(served, tmp_path)
    await first.resolve({key})
    assert await first.failures_now([key]) == {}, "it was asked for a moment ago"
    await first.close()
    shutil.rmtree(tmp_path / "registry")
    second = images(served, tmp_path)
    await second.resolve({key})
    assert key in second.resolutions()
    assert second.failed() == {}
    failures = await second.failures_now([key])
    assert failures[key].error.kind is PullErrorKind.NOT_FOUND
    await second.close()
