"""`lading` commands as processes of their own, started, stopped, killed and started again."""

import asyncio
import contextlib
import dataclasses
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from tests.e2e import waiting

COMMAND = Path(sys.executable).with_name("lading")
STOP_SECONDS_MAX = 30.0  # as Kubernetes gives a pod
LOG_TAIL_LINES = 20


@dataclass(slots=True, kw_only=True)
class Program:
    name: str
    arguments: tuple[str, ...]
    log: Path
    command: tuple[str, ...] = (str(COMMAND),)
    environment: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    """Its own endpoint, while it runs."""
    _process: asyncio.subprocess.Process | None = None

    async def start(self, *more: str) -> None:
        """Returns when it serves its endpoint."""
        assert self._process is None, f"{self.name} is running"
        begin = self.log_bytes()
        with self.log.open("ab") as output:
            self._process = await asyncio.create_subprocess_exec(
                *self.command,
                *self.arguments,
                *more,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **self.environment},
            )
        await waiting.until(lambda: self._serves(begin), f"{self.name} served its endpoint")

    async def ready(self) -> None:
        await waiting.until(self._is_ready, f"{self.name} was ready")

    async def kill(self) -> None:
        """As a crash does: no word, no farewell."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
            self._process = None

    @contextlib.contextmanager
    def asleep(self) -> Iterator[None]:
        """It stands still while the block runs, so that it cannot repair what is done there."""
        assert self._process is not None, f"{self.name} is not running"
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    async def stop(self) -> int:
        """As Kubernetes ends a pod; returns the exit code."""
        assert self._process is not None, f"{self.name} is not running"
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        try:
            async with asyncio.timeout(STOP_SECONDS_MAX):
                code = await self._process.wait()
        except TimeoutError:
            await self.kill()
            raise
        self._process = None
        return code

    async def ended(self) -> int:
        """Waits until it ends by itself; returns the exit code."""
        assert self._process is not None, f"{self.name} is not running"
        async with asyncio.timeout(waiting.SECONDS_MAX):
            code = await self._process.wait()
        self._process = None
        return code

    async def counted(self, metric: str) -> float:
        """The sum over the series with names that begin so."""
        lines = (await self.get("/metrics")).decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(metric))

    async def get(self, path: str) -> bytes:
        async with aiohttp.ClientSession() as session, session.get(self.url + path) as answer:
            return await answer.read()

    @property
    def pid(self) -> int:
        assert self._process is not None, f"{self.name} is not running"
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None

    async def start_if_ended(self) -> None:
        """As Kubernetes does with a container that ended by itself."""
        assert self._process is not None, f"{self.name} is not running"
        if self._process.returncode is not None:
            await self.kill()
            await self.start()

    def check_running(self) -> None:
        """Fails with the end of its log when it ended by itself: no fact is worth waiting for."""
        assert self._process is not None, f"{self.name} is not running"
        code = self._process.returncode
        assert code is None, f"{self.name} ended with {code}\n{self.log_tail()}"

    def log_bytes(self) -> int:
        return self.log.stat().st_size if self.log.exists() else 0

    def events_since(self, log_bytes: int) -> list[str]:
        """The names of the events that it logged after so many bytes."""
        return [entry["event"] for entry in self._entries(log_bytes)]

    def applied_since(self, log_bytes: int) -> list[str]:
        """The names of the actions that it applied after it had logged so many bytes."""
        return [one["action"] for one in self._entries(log_bytes) if one["event"] == "applying"]

    def log_tail(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:]
        return "\n".join([f"--- end of the log of {self.name} ---", *lines])

    async def _serves(self, begin: int) -> bool:
        self.check_running()
        for entry in self._entries(begin):
            if entry["event"] == "serving":
                self.url = entry["url"]
                return True
        return False

    def _entries(self, begin: int) -> Iterator[dict[str, Any]]:
        """What it logged; other lines are what Python or a library printed."""
        for line in self.log.read_bytes()[begin:].splitlines():
            with contextlib.suppress(msgspec.DecodeError):
                yield msgspec.json.decode(line)

    async def _is_ready(self) -> bool:
        async with aiohttp.ClientSession() as session, session.get(f"{self.url}/readyz") as answer:
            return answer.status == 200


@contextlib.asynccontextmanager
async def running(*programs: Program) -> AsyncIterator[None]:
    """All of them, ready; at the end none is left, however the block ends."""
    try:
        for program in programs:
            await program.start()
        for program in programs:
            await program.ready()
        yield
    finally:
        for program in programs:
            await program.kill()


@contextlib.asynccontextmanager
async def another(program: Program) -> AsyncIterator[Program]:
    """A second replica of it, ready; at the end it is stopped as a pod is."""
    name = f"another {program.name}"
    log = program.log.with_name(f"another-{program.log.name}")
    replica = dataclasses.replace(program, name=name, log=log, url="", _process=None)
    async with running(replica):
        try:
            yield replica
        finally:
            if replica.is_running:
                await replica.stop()


async def run(*arguments: str, exit_code: int = 0) -> str:
    """A command that ends by itself, with this code; what it printed."""
    process = await asyncio.create_subprocess_exec(
        COMMAND,
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    printed, errors = await process.communicate()
    assert process.returncode == exit_code, errors.decode()
    return printed.decode()
