"""What a person sees while an image is pulled."""

import asyncio
import os
import pty
import re
import sys
from dataclasses import dataclass

from lading.cli.image import progress
from lading.cli.image.progress import Pulling
from lading.kernel import references
from lading.kernel.values import replace
from lading.ports.disk import Space
from lading.standalone import sample_images
from tests.runtime_images.conftest import Stand

IMAGE = references.parse("quay.io/app:1")
MIB = 1024**2


def test_the_bar_follows_the_disk_and_is_never_full_before_the_end() -> None:
    half = progress.text(IMAGE, 50 * MIB, 100 * MIB, seconds=3.2)
    assert half == "[######......] 50 MiB of about 100 MiB, 3 s, quay.io/app:1"
    beyond = progress.text(IMAGE, 300 * MIB, 100 * MIB, seconds=9)
    assert beyond.startswith("[###########.] 300 MiB of about 100 MiB")


def test_without_a_size_there_is_no_bar() -> None:
    assert progress.text(IMAGE, 1000, None, seconds=1) == (
        "pulling quay.io/app:1, 1000 B more on disk, 1 s"
    )


@dataclass(frozen=True, slots=True)
class OneDisk:
    """Whatever path is asked for lies on it."""

    found: Space | None

    async def space(self, path: str) -> Space | None:
        return self.found


async def test_what_is_taken_is_asked_of_the_disk_unless_the_runtime_counts_well(
    stand: Stand,
) -> None:
    pulling = Pulling(
        image=IMAGE,
        platform=sample_images.LINUX_AMD64,
        for_guest=False,
        registry=stand.registry,
        runtime=stand.runtime,
        disk=OneDisk(Space(capacity_bytes=1000, available_bytes=400)),
    )
    (usage,) = (await stand.runtime.filesystems()).images
    assert await progress.occupied_bytes(pulling, is_embedded=False) == 600
    assert await progress.occupied_bytes(pulling, is_embedded=True) == usage.used_bytes
    elsewhere = replace(pulling, disk=OneDisk(None))
    assert await progress.occupied_bytes(elsewhere, is_embedded=False) == usage.used_bytes


async def test_a_terminal_shows_that_the_image_is_pulled_and_then_only_the_result(
    stand: Stand,
) -> None:
    sample = sample_images.image([{"file": sample_images.noise("large", 3_000_000)}])
    tag = references.parse(f"{stand.publisher.host}/large:1")
    await sample_images.push(stand.registry, tag, sample)
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "from lading.cli.main import main; main()",
        "image", "pull", str(tag),
        stdout=asyncio.subprocess.PIPE, stderr=theirs,
        env={**os.environ, "CONTAINER_RUNTIME_ENDPOINT": stand.endpoint,
             "HOME": str(stand.folder), "LADING_IMAGE_STATE": str(stand.folder / "images.json")},
    )  # fmt: skip
    os.close(theirs)
    output, _ = await process.communicate()
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert process.returncode == 0
    assert b"Image is up to date" in output
    assert re.search(r"pulling|of about 2.86 MiB", shown)
    assert shown.endswith("\x1b[K"), "the line is gone when the pull is over"
