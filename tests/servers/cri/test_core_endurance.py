"""Being killed anywhere, and being asked for very much at once; both in processes of their own."""

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

from lading.servers.cri import core, pulling
from tests.servers.cri import crash_everywhere, many_images

MEMORY_OVER_IDLE_BYTES_MAX = 100 * 1024 * 1024


def run(program: ModuleType, folder: Path) -> str:
    command = [sys.executable, "-m", program.__name__, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_being_killed_at_any_step_leaves_nothing_half_stored(tmp_path: Path) -> None:
    places = int(run(crash_everywhere, tmp_path))
    assert places > 20, "the steps on disk are no longer seen"


def test_five_hundred_images_at_once_take_bounded_memory_and_bounded_connections(
    tmp_path: Path,
) -> None:
    measured = json.loads(run(many_images, tmp_path))
    assert measured["images"] == many_images.IMAGES
    assert measured["bytes_over_idle"] < MEMORY_OVER_IDLE_BYTES_MAX, measured
    cap = core.PULLS_IN_FLIGHT_MAX * pulling.DOWNLOADS_PER_PULL_MAX
    assert measured["blobs_in_flight_max"] <= cap
