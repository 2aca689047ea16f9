"""Link files: each holds a digest, and so gives stored content a name."""

from pathlib import Path

from lading import files
from lading.kernel import digests
from lading.kernel.digests import Digest
from lading.kernel.errors import Malformed

LINK_BYTES_MAX = 256  # the longest digest we know has 135 characters


def read_link(path: Path) -> Digest | None:
    """The digest that a link names; None when the link is absent or unreadable."""
    try:
        with path.open("rb") as file:
            content = file.read(LINK_BYTES_MAX)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return digests.parse(content.decode("ascii", "replace").strip())
    except Malformed:
        return None


def write_link(path: Path, digest: Digest) -> None:
    """Also where it is there already: its time says when the content was last pushed."""
    files.write_atomically(path, str(digest).encode())
