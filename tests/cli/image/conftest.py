"""The command as a person runs it, in a process of its own, on an embedded node."""

import asyncio
import os
import re
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from lading.ports.cri import ImageSpec
from tests.cli.image.builders import LAYERS
from tests.runtime_images.conftest import Stand, stand

__all__ = ["stand"]

GATE = "RuntimeClassInImageCriApi=true"
_PROGRAM = "from lading.cli.main import main; main()"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    code: int
    output: str
    errors: str


Run = Callable[..., Awaitable[Result]]


@pytest.fixture
def run(stand: Stand, tmp_path: Path) -> Run:
    return lambda *arguments, gate=True, typed="": _run(
        stand, *arguments, *(("--feature-gates", GATE) if gate else ()), typed=typed
    )


async def _run(stand: Stand, *arguments: str, typed: str) -> Result:
    environment = {
        **os.environ,
        "HOME": str(stand.folder),
        "CONTAINER_RUNTIME_ENDPOINT": stand.endpoint,
        "LADING_IMAGE_STATE": str(stand.folder / "state" / "images.json"),
        "LADING_GUEST_PLATFORMS": str(stand.folder / "guest-platforms.toml"),
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _PROGRAM, "image", *arguments,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE, env=environment,
    )  # fmt: skip
    output, errors = await process.communicate(typed.encode())
    assert process.returncode is not None
    return Result(code=process.returncode, output=_stable(output), errors=_stable(errors))


def _stable(content: bytes) -> str:
    """The registry's port differs from run to run."""
    return re.sub(r"127\.0\.0\.1:\d{5}", "registry.local", content.decode())


@pytest.fixture
async def tag(stand: Stand) -> str:
    """An image of two platforms in the registry, and on the node for the host and for `arm`."""
    tag = await stand.publisher.index("team/app:1", LAYERS)
    for handler in ("", "arm"):
        await stand.runtime.pull(ImageSpec(image=tag, runtime_handler=handler))
    return tag
