"""A lock in the state directory: only one process changes the pins of this machine.

The kernel releases the lock when the process ends. The file names the owner.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lading.ports.node import NodeOwned

LOCK_FILE = "owner"
OWNER_BYTES_MAX = 1024


def had_owner(state_dir: Path) -> bool:
    """Whether it was ever the state directory of a node."""
    return (state_dir / LOCK_FILE).exists()


@contextmanager
def owning(state_dir: Path, owner: str) -> Iterator[None]:
    """Raises `NodeOwned` while another process owns the machine."""
    state_dir.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(state_dir / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            other = os.read(descriptor, OWNER_BYTES_MAX).decode(errors="replace")
            message = f"{other or 'another process'} owns the pins of this machine"
            raise NodeOwned(message) from None
        os.ftruncate(descriptor, 0)
        os.write(descriptor, owner.encode()[:OWNER_BYTES_MAX])
        yield
    finally:
        os.close(descriptor)
