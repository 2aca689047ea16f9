"""Runs containers of Lading's own image as processes of this machine.

Each runs `lading ARGUMENTS` in a session of its own, with a small environment. None outlives this
process: the kernel ends it with us (see guard.py), and `run` ends the rest when it is cancelled.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress

import msgspec

from lading.kernel import texts
from lading.kernel.objects import Key
from lading.kernel.values import replace
from lading.ports.clock import Clock
from lading.standalone.workloads.pods import folders
from lading.standalone.workloads.pods.types import ProcessRecord, StartProcess

OUTPUT_BYTES_MAX = 2048  # as a kubelet takes from the log of a container
OUTPUT_LINES_MAX = 80
PIECE_BYTES = 4096
CANNOT_START = 128  # as a runtime says of a command that it cannot start
INHERITED = (
    *("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
)
"""The variables of this process that a container gets too; nothing else is passed on."""


class _Process(msgspec.Struct):
    key: Key
    grace_seconds: float
    record: ProcessRecord
    task: asyncio.Task[None] | None = None
    stop: asyncio.Event = msgspec.field(default_factory=asyncio.Event)


class Processes:
    def __init__(
        self, *, clock: Clock, environment: Mapping[str, str], changed: Callable[[Key], None]
    ) -> None:
        """The environment is what every container gets: the kubeconfig, for one."""
        self._clock = clock
        inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
        self._environment = {**inherited, **environment}
        self._changed = changed
        self._processes: dict[tuple[str, str], _Process] = {}

    def records(self, uid: str) -> dict[str, ProcessRecord]:
        """Of one pod, by container."""
        return {name: one.record for (owner, name), one in self._processes.items() if owner == uid}

    def start(self, action: StartProcess) -> None:
        """Does nothing when this very container was started already."""
        owner = (action.pod.metadata.uid, action.container.name)
        known = self._processes.get(owner)
        if known is not None and known.record.container_id == action.container_id:
            return
        record = ProcessRecord(container_id=action.container_id, started_at=self._clock.now())
        grace = float(action.pod.spec.termination_grace_period_seconds)
        one = _Process(key=action.pod.key, grace_seconds=grace, record=record)
        self._processes[owner] = one
        one.task = asyncio.create_task(self._run(one, action))

    def stop(self, uid: str) -> None:
        """Ends the processes of a pod: SIGTERM, and SIGKILL when its grace period is over."""
        for (owner, _), one in self._processes.items():
            if owner == uid:
                one.stop.set()

    def forget(self, uid: str) -> None:
        """The processes that have ended."""
        for owner in [owner for owner in self._processes if owner[0] == uid]:
            if self._processes[owner].record.exit_code is not None:
                del self._processes[owner]

    async def run(self) -> None:
        """Until cancelled; then every process is ended."""
        try:
            await asyncio.Event().wait()
        finally:
            tasks = [one.task for one in self._processes.values() if one.task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, one: _Process, action: StartProcess) -> None:
        try:
            folders.write(action.inputs)
            process = await self._started(action)
        except (OSError, ValueError) as error:  # the latter for a zero byte in a variable
            self._ended(one, CANNOT_START, str(error))
            return
        assert process.stdout is not None
        tail = OutputTail()
        try:
            reading = asyncio.create_task(tail.read(process.stdout))
            stopping = asyncio.create_task(self._stop(one, process))
            self._changed(one.key)
            code = await process.wait()
            stopping.cancel()
            await reading
        finally:
            if process.returncode is None:
                _signal(process, signal.SIGKILL)
                await process.wait()
        self._ended(one, code if code >= 0 else 128 - code, tail.text())

    async def _started(self, action: StartProcess) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "lading.standalone.workloads.pods.guard"),
            *(str(os.getpid()), *action.inputs.arguments),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**self._environment, **action.inputs.environment},
            start_new_session=True,
        )

    async def _stop(self, one: _Process, process: asyncio.subprocess.Process) -> None:
        await one.stop.wait()
        _signal(process, signal.SIGTERM)
        await self._clock.sleep(one.grace_seconds)
        _signal(process, signal.SIGKILL)

    def _ended(self, one: _Process, exit_code: int, output: str) -> None:
        one.record = replace(
            one.record, exit_code=exit_code, finished_at=self._clock.now(), output=output
        )
        self._changed(one.key)


class OutputTail:
    """The end of what a process prints, whatever it prints.

    What the cut halved is left out: a secret that is cut in two does not look like one.
    """

    def __init__(self) -> None:
        self._bytes = b""
        self._is_cut = False

    async def read(self, stream: asyncio.StreamReader) -> None:
        while piece := await stream.read(PIECE_BYTES):
            self.add(piece)

    def add(self, piece: bytes) -> None:
        whole = self._bytes + piece
        self._is_cut = self._is_cut or len(whole) > OUTPUT_BYTES_MAX
        self._bytes = whole[-OUTPUT_BYTES_MAX:]

    def text(self) -> str:
        text = self._bytes.decode("utf-8", "replace")
        if self._is_cut:
            text = text.partition("\n" if "\n" in text.rstrip() else " ")[2]
        last = "".join(text.splitlines(keepends=True)[-OUTPUT_LINES_MAX:])
        return texts.bounded_text(last, bytes_max=OUTPUT_BYTES_MAX, keep_lines=True)


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    """To the whole session that the process leads."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
