"""The kinds of Lading as an API server stores them. They are the same in every simulation."""

import asyncio
import functools
import itertools
import uuid

from lading.adapters.clock import VirtualClock
from lading.adapters.kube.client import KubeClient
from lading.embedded.api_server import Authorized
from lading.embedded.kube.authentication import ADMIN
from lading.embedded.kube.core import Core
from lading.embedded.kube.storage.memory import Change, MemoryStorage
from lading.installation import apply as installation
from lading.wiring.features import DEFINITIONS

TOKEN = "simulated-administrator"  # of servers that have no socket


def installed() -> MemoryStorage:
    """A new store in which all kinds are installed."""
    storage = MemoryStorage()
    for change in _changes():
        storage.load(change)
    return storage


@functools.cache
def _changes() -> tuple[Change, ...]:
    """Installing takes as long as a virtual minute, so it is done once."""
    storage = MemoryStorage()
    changes: list[Change] = []
    storage.subscribe(changes.append)
    asyncio.run(_install(storage))
    return tuple(changes)


async def _install(storage: MemoryStorage) -> None:
    numbers, clock = itertools.count(1), VirtualClock()
    core = Core(
        storage,
        clock,
        tokens={TOKEN: ADMIN},
        uid_source=lambda: str(uuid.UUID(int=next(numbers))),
    )
    await installation.install(KubeClient(Authorized(core, TOKEN)), clock, DEFINITIONS)
    await core.close()
