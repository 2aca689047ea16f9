"""The registries that the suite runs on.

`embedded` is ours, on a folder of its own. With CONFORMANCE_REGISTRY=NAME=URL (for example
`distribution-3.1=http://127.0.0.1:5000`) the suite runs on that one instead, under that name; it
must allow deletion.
"""

import contextlib
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from lading.embedded.registry import server

EMBEDDED = "embedded"
VARIABLE = "CONFORMANCE_REGISTRY"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    name: str
    url: str


def names() -> list[str]:
    return [os.environ.get(VARIABLE, EMBEDDED).partition("=")[0]]


@contextlib.asynccontextmanager
async def opened(name: str, folder: Path) -> AsyncIterator[Target]:
    if name != EMBEDDED:
        yield Target(name=name, url=os.environ[VARIABLE].partition("=")[2])
        return
    async with server.serve(folder) as url:
        yield Target(name=name, url=url)
