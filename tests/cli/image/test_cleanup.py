"""`lading image cleanup`."""

from tests.cli.image.builders import handlers
from tests.cli.image.conftest import Run
from tests.runtime_images.conftest import Stand


async def test_cleanup_removes_what_was_pulled_for_runtime_classes(
    run: Run, stand: Stand, tag: str
) -> None:
    shown = await run("cleanup", gate=False)
    assert "1 image to remove" in shown.errors
    assert await handlers(stand) == ["", "arm"]
    assert (await run("cleanup", "--yes", gate=False)).code == 0
    assert await handlers(stand) == [""]
