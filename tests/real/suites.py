"""Runs a conformance suite in a process of its own, on the server that its settings name."""

import os
import pathlib
import subprocess
import sys
from collections.abc import Mapping

SUITES = pathlib.Path(__file__).parent.parent / "conformance"
LIMIT = "--timeout=300"
"""For each test: a real server may take its time."""


def check(name: str, settings: Mapping[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--tb=short", LIMIT, SUITES / name],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
