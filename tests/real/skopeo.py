"""Debian's skopeo, unmodified, without a memory.

skopeo remembers on the machine where it saw which blob, and copies from there the next time: what a
test sees would hang on the tests before it.
"""

import contextlib
import pathlib
import tempfile
from collections.abc import Iterator

from tests.real import programs
from tests.real.setup import binaries

ROOTLESS_USER = "1"


async def run(*arguments: str) -> str:
    with _forgetful() as variables:
        return await programs.run(*_command(arguments), **variables)


async def refused(*arguments: str) -> str:
    with _forgetful() as variables:
        return await programs.refused(*_command(arguments), **variables)


def _command(arguments: tuple[str, ...]) -> tuple[str | pathlib.Path, ...]:
    return (binaries.unpacked("skopeo", "usr/bin/skopeo"), "--insecure-policy", *arguments)


@contextlib.contextmanager
def _forgetful() -> Iterator[dict[str, str]]:
    """Only where it takes itself for an ordinary user can its memory be put elsewhere."""
    with tempfile.TemporaryDirectory() as folder:
        yield {"_CONTAINERS_ROOTLESS_UID": ROOTLESS_USER, "XDG_DATA_HOME": folder}
