"""The demo passes all its checks, and README.md shows its output."""

import re
from pathlib import Path

import pytest

from lading.adapters.clock import SystemClock
from lading.embedded.demo import play, scenes
from lading.embedded.demo.stage import DemoFailed, Output, Stage

README = Path(__file__).parents[2] / "README.md"
VARIABLE = re.compile(r"\d{4}-\d\d-\d\d|[\d.]+ KiB")
"""A day and a size, which differ from run to run."""


async def test_every_check_of_the_demo_holds(tmp_path: Path) -> None:
    lines: list[str] = []
    assert await play.play(tmp_path, SystemClock(), lines.append) == 35
    assert sum("✓" in line for line in lines) == 35
    *shown, last = readme()
    printed = "\n".join(lines).splitlines()
    assert [VARIABLE.sub("", line) for line in printed[-len(shown) :]] == [
        VARIABLE.sub("", line) for line in shown
    ]
    assert last.startswith("All 35 checks passed in ")


def readme() -> list[str]:
    """The lines that README.md shows as the end of the demo, without empty ones before the last."""
    (block,) = re.findall(r"^```\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
    *shown, empty, last = block.splitlines()
    assert empty == ""
    return [*shown, last]


def test_a_check_that_does_not_hold_ends_the_demo() -> None:
    output = Output(lambda text: None)
    with pytest.raises(DemoFailed, match="the moon is made of cheese"):
        output.check("the moon is made of cheese", holds=False)


async def test_a_scene_that_fails_fails_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_: Stage) -> None:
        raise DemoFailed("check failed: the moon is round")

    monkeypatch.setattr(scenes, "images_are_pushed", fail)
    with pytest.raises(DemoFailed, match="the moon is round"):
        await play.play(tmp_path, SystemClock(), lambda text: None)
