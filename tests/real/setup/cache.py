"""Where finished binaries live: one folder per key, outside the checkout, complete or absent.

A folder is filled under a temporary name and renamed, so a run that is cut off leaves no half.
"""

import contextlib
import hashlib
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator


def root() -> pathlib.Path:
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "lading" / "real"


def folder(name: str, *ingredients: str) -> pathlib.Path:
    """The folder of these ingredients: anything that changes the outcome changes its name."""
    key = hashlib.sha256("\0".join(ingredients).encode()).hexdigest()[:12]
    return root() / f"{name}-{key}"


@contextlib.contextmanager
def filling(target: pathlib.Path) -> Iterator[pathlib.Path]:
    """A temporary folder that becomes the target when the block ends well."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = pathlib.Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        temporary.chmod(0o755)
        yield temporary
        _rename(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _rename(temporary: pathlib.Path, target: pathlib.Path) -> None:
    try:
        temporary.rename(target)
    except OSError:
        # Somebody else filled it meanwhile; theirs is as good as ours.
        if not target.is_dir():
            raise
