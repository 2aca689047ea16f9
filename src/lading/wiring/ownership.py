"""Makes this process the one that changes the pins of this machine."""

from contextlib import AbstractContextManager
from pathlib import Path

from lading.adapters import node_owner

STATE_FOLDER = Path("/var/lib/lading")
"""Of the agent and of commands without a cluster alike, so that each sees the other."""


def owning(state_dir: Path, owner: str) -> AbstractContextManager[None]:
    return node_owner.owning(state_dir, owner)
