"""`lading image inspect`."""

import json

from tests.cli.image.conftest import Run


async def test_inspect_shows_the_guest_and_misses_what_is_not_there(run: Run, tag: str) -> None:
    shown = json.loads((await run("inspect", tag, "--runtime", "handler:arm")).output)
    assert shown["status"]["spec"]["runtimeHandler"] == "arm"
    assert shown["info"]["guestPlatform"] == "linux/arm64"
    missing = await run("inspect", f"{tag}x")
    assert (missing.code, missing.output) == (1, "")
    assert "no such image" in missing.errors
