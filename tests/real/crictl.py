"""crictl, unmodified, asked through any socket: a real runtime's or the embedded service's."""

import json
import pathlib
from typing import Any

from tests.real import programs
from tests.real.bed import runtime
from tests.real.setup import binaries


async def run(endpoint: str, *arguments: str) -> str:
    return await programs.run(*_command(endpoint, arguments))


async def run_json(endpoint: str, command: str, *arguments: str) -> Any:
    return json.loads(await run(endpoint, command, "--output=json", *arguments))


async def refused(endpoint: str, *arguments: str) -> str:
    return await programs.refused(*_command(endpoint, arguments))


def _command(endpoint: str, arguments: tuple[str, ...]) -> tuple[str | pathlib.Path, ...]:
    return (
        binaries.built("cri-tools", "crictl"),
        "--config=/dev/null",
        f"--runtime-endpoint={endpoint}",
        f"--image-endpoint={endpoint}",
        f"--timeout={runtime.CRICTL_SECONDS_MAX}s",
        *arguments,
    )
