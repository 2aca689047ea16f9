"""`deploy/hold.c`, compiled with the command of the Containerfile."""

from pathlib import Path

from release import image
from tests.deploy.manifests import DEPLOY


def compiled(folder: Path) -> Path:
    """The static program; needs gcc."""
    program = folder / "hold"
    image.compile_hold(DEPLOY, program)
    return program
