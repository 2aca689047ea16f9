"""This machine without its runtime's libraries: clock, disk, state, and what files declare.

The guests of runtime handlers are in the runtime's own configuration, as far as the runtime knows
them. A table of ours adds the rest.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TypeVar

from lading import files
from lading.adapters import node_owner
from lading.adapters.clock import SystemClock
from lading.adapters.cri import client
from lading.adapters.disk import MachineDisk
from lading.adapters.state_files import LocalStateFile
from lading.kernel.errors import Malformed
from lading.kernel.platforms import Platform, guests
from lading.ports.clock import Clock
from lading.ports.cri import Cri
from lading.ports.node import Disk
from lading.runtime_images.state import ImageStateFile
from lading.wire import calls

T = TypeVar("T")

DECLARED_TABLE = Path("etc/lading/guest-platforms.toml")
CONTAINERD_CONFIG = Path("etc/containerd/config.toml")


def clock() -> Clock:
    return SystemClock()


def disk() -> Disk:
    return MachineDisk()


def image_state(path: Path) -> ImageStateFile:
    return ImageStateFile(LocalStateFile(path))


@asynccontextmanager
async def open_cri(endpoint: str) -> AsyncIterator[Cri]:
    async with calls.channel_to(endpoint) as channel:
        yield client.CriClient(channel)


def owning(state_dir: Path, owner: str) -> AbstractContextManager[None]:
    """Makes this process the only one that changes the pins of the machine."""
    return node_owner.owning(state_dir, owner)


@contextmanager
def owning_runtime(endpoint: str, state_dir: Path, owner: str) -> Iterator[None]:
    """Also takes the lock beside the socket: there the agent of a node of `lading up` has it."""
    beside = Path(endpoint.removeprefix("unix://")).parent
    with ExitStack() as stack:
        for folder in dict.fromkeys((state_dir, beside)):
            if folder == state_dir or node_owner.had_owner(folder):
                stack.enter_context(node_owner.owning(folder, owner))
        yield


def files_of(host_root: Path) -> tuple[Path, ...]:
    """The runtime's own configuration is last, because it has precedence."""
    return (host_root / DECLARED_TABLE, host_root / CONTAINERD_CONFIG)


def guest_platforms(paths: Iterable[Path]) -> dict[str, Platform]:
    found: dict[str, Platform] = {}
    for file in paths:
        found |= _read(file, guests.parse)
    return found


def class_names(paths: Iterable[Path]) -> dict[str, tuple[str, ...]]:
    """The runtime classes that the files name for a handler."""
    found: dict[str, tuple[str, ...]] = {}
    for file in paths:
        found |= _read(file, guests.class_names)
    return found


def handlers(file: Path) -> dict[str, Platform | None]:
    """Every handler of a runtime; None where guests share the host's platform."""
    return _read(file, guests.handlers)


def _read(file: Path, parse: Callable[[str], dict[str, T]]) -> dict[str, T]:
    """A missing file declares nothing."""
    if not file.exists():
        return {}
    try:
        return parse(files.read_bounded(file).decode())
    except (Malformed, UnicodeDecodeError) as error:
        is_whole = isinstance(error, Malformed) and error.what == "TOML document"
        reason = error.reason if is_whole else str(error)
        raise Malformed(what="runtime configuration", text=str(file), reason=reason) from error
