"""The demo is a promise to newcomers: it must hold in the tests as well."""

from pathlib import Path

import pytest

from lading.adapters.clock import SystemClock
from lading.standalone.demo import play
from lading.standalone.demo.story import DemoFailed, Story


async def test_every_check_of_the_demo_holds(tmp_path: Path) -> None:
    lines: list[str] = []
    assert await play.play(tmp_path, SystemClock(), lines.append) == 35
    assert sum("✓" in line for line in lines) == 35


def test_a_check_that_does_not_hold_ends_the_demo() -> None:
    story = Story(lambda text: None)
    with pytest.raises(DemoFailed, match="the moon is made of cheese"):
        story.check("the moon is made of cheese", holds=False)
