"""`lading image fsinfo`."""

import json

from tests.cli.image.conftest import Run


async def test_fsinfo_counts_the_bytes_of_the_images(run: Run, tag: str) -> None:
    (usage,) = json.loads((await run("fsinfo")).output)["status"]["imageFilesystems"]
    assert int(usage["usedBytes"]["value"]) > 2_100_000
    assert "2.01 MiB" in (await run("fsinfo", "-o", "table")).output
