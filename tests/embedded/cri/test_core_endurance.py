"""The runtime is killed at every step that it takes on disk, in a process of its own."""

import subprocess
import sys
from pathlib import Path

from tests.embedded.cri import crash_everywhere


def test_being_killed_at_any_step_leaves_nothing_half_stored(tmp_path: Path) -> None:
    command = [sys.executable, "-m", crash_everywhere.__name__, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20, "the steps on disk are no longer seen"
