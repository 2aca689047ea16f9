"""`lading demo` ends as its checks do, and leaves no data behind."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from lading.embedded.demo import play
from lading.embedded.demo.stage import DemoFailed
from tests.command import lading


@dataclass
class Played:
    """In the place of the scenes."""

    result: int | DemoFailed
    folders: list[Path] = field(default_factory=list)

    async def __call__(self, folder: Path, *_: object) -> int:
        (folder / "data").touch()
        self.folders.append(folder)
        if isinstance(self.result, DemoFailed):
            raise self.result
        return self.result


async def test_it_says_how_many_checks_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    played = Played(7)
    monkeypatch.setattr(play, "play", played)
    done = await lading("demo")
    assert (done.code, "All 7 checks passed in " in done.output) == (0, True)
    assert not played.folders[0].exists()


async def test_a_failed_check_is_its_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    played = Played(DemoFailed("check failed: the moon is round"))
    monkeypatch.setattr(play, "play", played)
    done = await lading("demo")
    assert (done.code, done.errors) == (1, "Error: check failed: the moon is round\n")
    assert "passed" not in done.output
    assert not played.folders[0].exists()
