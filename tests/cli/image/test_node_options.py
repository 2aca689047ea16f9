"""Which runtime the image commands ask, and what the feature gate hides."""

from tests.cli.image.builders import AT_ONCE, handlers
from tests.cli.image.conftest import GATE, Run
from tests.runtime_images.conftest import Stand


async def test_with_the_gate_off_no_runtime_class_is_seen_or_taken(run: Run, tag: str) -> None:
    assert "handler:arm" not in (await run("ls", gate=False)).output
    refused = await run("pull", tag, "--runtime", "handler:arm", gate=False)
    assert refused.code == 2
    assert f"--feature-gates {GATE}" in refused.errors


async def test_images_are_asked_of_the_image_service_where_there_is_one(
    run: Run, stand: Stand, tag: str
) -> None:
    apart = ("--runtime-endpoint", "unix:///nowhere.sock", "--image-endpoint", stand.endpoint)
    assert len((await run("ls", "-q", *apart)).output.splitlines()) == 2
    unknown_use = await run("gc", *AT_ONCE, "--yes", *apart)
    assert unknown_use.code == 1
    assert await handlers(stand) == ["", "arm"]


async def test_a_runtime_that_does_not_answer_is_reported(run: Run) -> None:
    failed = await run("ls", "--runtime-endpoint", "unix:///nowhere.sock")
    assert failed.code == 1
    assert "check that the runtime runs" in failed.errors
