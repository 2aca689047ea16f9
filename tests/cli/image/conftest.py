"""`lading image` on an embedded node."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lading.ports.cri import ImageSpec
from tests.cli.image.builders import LAYERS
from tests.command import CommandResult, lading
from tests.runtime_images.conftest import Stand, stand

__all__ = ["stand"]

GATE = "RuntimeClassInImageCriApi=true"


Run = Callable[..., Awaitable[CommandResult]]


@pytest.fixture
def run(stand: Stand, tmp_path: Path) -> Run:
    return lambda *arguments, gate=True, typed="": _run(
        stand, *arguments, *(("--feature-gates", GATE) if gate else ()), typed=typed
    )


async def _run(stand: Stand, *arguments: str, typed: str) -> CommandResult:
    result = await lading(
        "image", *arguments,
        "--state-dir", str(stand.folder / "state"),
        "--runtime-config", str(stand.folder / "guest-platforms.toml"),
        text=typed,
        environment={"HOME": str(stand.folder), "CONTAINER_RUNTIME_ENDPOINT": stand.endpoint},
    )  # fmt: skip
    return replace(result, output=_stable(result.output), errors=_stable(result.errors))


def _stable(content: str) -> str:
    """The registry's port differs from run to run."""
    return re.sub(r"127\.0\.0\.1:\d{5}", "registry.local", content)


@pytest.fixture
async def tag(stand: Stand) -> str:
    """An image of two platforms in the registry, and on the node for the host and for `arm`."""
    tag = await stand.publisher.index("team/app:1", LAYERS)
    for handler in ("", "arm"):
        await stand.runtime.pull(ImageSpec(image=tag, runtime_handler=handler))
    return tag
