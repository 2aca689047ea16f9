"""What files of this machine declare about runtime handlers: their guests and their classes.

The runtime's own configuration has the guests where it knows them; a table of ours adds the rest.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from lading import files
from lading.kernel.errors import Malformed
from lading.kernel.platforms import Platform, guests

T = TypeVar("T")

DECLARED_TABLE = Path("etc/lading/guest-platforms.toml")
CONTAINERD_CONFIG = Path("etc/containerd/config.toml")


def files_of(host_root: Path) -> tuple[Path, ...]:
    """The runtime's own configuration last, because it wins."""
    return (host_root / DECLARED_TABLE, host_root / CONTAINERD_CONFIG)


def guest_platforms(files: Iterable[Path]) -> dict[str, Platform]:
    found: dict[str, Platform] = {}
    for file in files:
        found |= _read(file, guests.parse)
    return found


def class_names(files: Iterable[Path]) -> dict[str, tuple[str, ...]]:
    """The runtime classes that the files name for a handler."""
    found: dict[str, tuple[str, ...]] = {}
    for file in files:
        found |= _read(file, guests.class_names)
    return found


def handlers(file: Path) -> dict[str, Platform | None]:
    """Every handler of a runtime; None where guests share the host's platform."""
    return _read(file, guests.handlers)


def _read(file: Path, parse: Callable[[str], dict[str, T]]) -> dict[str, T]:
    """A file that is not there declares nothing."""
    if not file.exists():
        return {}
    try:
        return parse(files.read_bounded(file).decode())
    except (Malformed, UnicodeDecodeError) as error:
        is_whole = isinstance(error, Malformed) and error.what == "TOML document"
        reason = error.reason if is_whole else str(error)
        raise Malformed(what="runtime configuration", text=str(file), reason=reason) from error
