"""The embedded registry on its data folder, at the same port at every start if that is free.

The objects of the cluster name their images by it: at another port none could be pulled again.
"""

import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import structlog

from lading.files import write_atomically
from lading.wiring import embedded

log = structlog.get_logger(__name__)


@contextlib.asynccontextmanager
async def serve(data: Path, *, port: int) -> AsyncIterator[str]:
    """Port 0 is that of the last start, or a free one. Gives the address."""
    note = data / "registry-port"
    async with embedded.open_registry(data / "registry", port=port or _last_port(note)) as url:
        write_atomically(note, url.rpartition(":")[2].encode())
        yield url


def _last_port(note: Path) -> int:
    text = note.read_bytes().strip() if note.exists() else b""
    port = int(text) if text.isdigit() else 0
    if _is_free(port):
        return port
    log.warning("the registry has moved: another process has its port", port=port)
    return 0


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
