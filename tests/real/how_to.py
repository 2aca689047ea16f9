"""What the tests of how-to pages share: the blocks for Kubernetes, and how their commands run."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.docs import pages
from tests.docs.pages import Block, Command
from tests.real.setup import binaries

COMMAND_SECONDS_MAX = 180
FOLDER = pages.DOCS / "how-to"
REGISTRIES = re.compile(r"\b(registry|mirror)\.example\.com(:5000)?")
"""The registries that pages name."""


def blocks(page: Path, title: str = pages.KUBERNETES) -> list[Block]:
    return [one for one in pages.blocks(page) if one.language == "console" and one.title == title]


def commands(page: Path, title: str = pages.KUBERNETES) -> list[Command]:
    return [step for block in blocks(page, title) for step in pages.commands(block)]


def run(command: str, folder: Path, environment: Mapping[str, str]) -> str:
    """In a shell of a person who has kubectl and lading; an error when the command fails."""
    programs = (binaries.built("kubernetes", "kubectl").parent, Path(sys.executable).parent)
    path = os.pathsep.join((str(folder), *map(str, programs), os.environ["PATH"]))
    answer = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        env={**os.environ, "PATH": path, "HOME": str(folder), **environment},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=COMMAND_SECONDS_MAX,
    )
    assert answer.returncode == 0, f"$ {command}\n{answer.stdout}"
    return answer.stdout
