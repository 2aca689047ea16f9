"""`lading up` as a process of a test, and a client of its API server."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from lading.adapters.clock import SystemClock
from lading.adapters.kube import connect
from lading.adapters.kube.client import KubeClient

START_SECONDS_MAX = 90.0
"""A busy machine may need it; where all goes well it costs nothing."""
READY_LINE = b"Ctrl-C stops it"


@asynccontextmanager
async def up(data: Path, *options: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "from lading.cli.main import main; main()",
        "up", "--data", str(data), "--nodes", "1", *options,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_SECONDS_MAX):
            seen = b""
            while READY_LINE not in seen:
                line = await process.stdout.readline()
                assert line, seen.decode()
                seen += line
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@asynccontextmanager
async def client_of(data: Path) -> AsyncIterator[KubeClient]:
    connection = connect.find({}, file=data / "kubeconfig")
    async with connect.connect(
        connection, SystemClock(), requests_per_second=1000, burst_requests=1000
    ) as client:
        yield client
