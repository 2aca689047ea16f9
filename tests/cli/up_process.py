"""`lading up` as a process, and what it started."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from lading.adapters.clock import SystemClock
from lading.adapters.kube import connect
from lading.adapters.kube.client import KubeClient

START_SECONDS_MAX = 90.0
"""It costs nothing where all goes well, and a busy machine may need it."""
READY_LINE = b"Ctrl-C stops it"


@asynccontextmanager
async def up(data: Path, *options: str) -> AsyncIterator[asyncio.subprocess.Process]:
    async with welcomed(data, *options) as (process, _):
        yield process


@asynccontextmanager
async def welcomed(
    data: Path, *options: str, path: str = os.environ["PATH"]
) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """With what it printed; later options stand for earlier ones."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "from lading.cli.main import main; main()",
        "up", "--state-dir", str(data), "--nodes", "1", *options,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "PATH": path},
    )  # fmt: skip
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_SECONDS_MAX):
            seen = b""
            while READY_LINE not in seen:
                line = await process.stdout.readline()
                assert line, seen.decode()
                seen += line
        yield process, seen.decode()
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


def processes_of(data: Path) -> set[int]:
    """The processes that were given the kubeconfig of this data folder."""
    wanted = f"KUBECONFIG={data / 'kubeconfig'}".encode()
    found = set()
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            if folder.name.isdigit() and wanted in (folder / "environ").read_bytes():
                found.add(int(folder.name))
    return found - {os.getpid()}
