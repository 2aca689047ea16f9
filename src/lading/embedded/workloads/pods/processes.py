"""Runs containers of Lading's own image as processes of this machine.

Each runs `lading ARGUMENTS` in a session of its own, with a small environment, and its volumes are
folders that only this user can read. No process outlives this one: the kernel ends them (see
guard.py), and `run` ends them when it is cancelled.
"""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from lading.embedded.workloads.pods.inputs import ProcessInputs
from lading.embedded.workloads.pods.types import ProcessRecord, StartProcess
from lading.kernel import texts
from lading.kernel.objects import Key
from lading.kernel.values import replace
from lading.ports.clock import Clock

OUTPUT_BYTES_MAX = 2048  # a kubelet reads this much of the log of a container
OUTPUT_LINES_MAX = 80
PIECE_BYTES = 4096
CANNOT_START = 128  # the exit code that a runtime reports if a command cannot start
INHERITED = (
    *("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
)
"""The variables of this process that a container inherits."""


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
        """`environment` has the variables of every container, such as KUBECONFIG."""
        self._clock = clock
        inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
        self._environment = {**inherited, **environment}
        self._changed = changed
        self._processes: dict[tuple[str, str], _Process] = {}

    def records(self, uid: str) -> dict[str, ProcessRecord]:
        """The processes of one pod, by container."""
        return {name: one.record for (owner, name), one in self._processes.items() if owner == uid}

    def start(self, action: StartProcess) -> None:
        """Does nothing if this start of the container has been made."""
        owner = (action.pod.metadata.uid, action.container.name)
        known = self._processes.get(owner)
        if known is not None and known.record.container_id == action.container_id:
            return
        record = ProcessRecord(container_id=action.container_id)
        grace = float(action.pod.spec.termination_grace_period_seconds)
        one = _Process(key=action.pod.key, grace_seconds=grace, record=record)
        self._processes[owner] = one
        one.task = asyncio.create_task(self._run(one, action))

    def stop(self, uid: str) -> None:
        """Sends SIGTERM to the processes of a pod, and SIGKILL after its grace period."""
        for (owner, _), one in self._processes.items():
            if owner == uid:
                one.stop.set()

    def forget(self, uid: str) -> None:
        """Forgets the processes of a pod that have ended."""
        for owner in [owner for owner in self._processes if owner[0] == uid]:
            if self._processes[owner].record.exit_code is not None:
                del self._processes[owner]

    async def run(self) -> None:
        """Runs until cancelled, then ends every process."""
        try:
            await asyncio.Event().wait()
        finally:
            tasks = [one.task for one in self._processes.values() if one.task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, one: _Process, action: StartProcess) -> None:
        try:
            write_volumes(action.inputs)
            process = await self._started(action)
        except (OSError, ValueError) as error:  # a zero byte in a variable is a ValueError
            self._ended(one, CANNOT_START, str(error))
            return
        assert process.stdout is not None
        one.record = replace(one.record, started_at=self._clock.now())
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
            *(sys.executable, "-m", "lading.embedded.workloads.pods.guard"),
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
    """The end of the output of a process.

    It leaves out the line or word that the cut splits: half a secret is not recognized as one.
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
    """Sends a signal to the whole session of the process."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def write_volumes(inputs: ProcessInputs) -> None:
    """Writes the files of a container before it starts, in place of those of its last start."""
    if inputs.folder:
        shutil.rmtree(inputs.folder, ignore_errors=True)
    for path, content in inputs.files.items():
        Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)


def keep_volumes(root: Path, uids: Iterable[str]) -> None:
    """Removes the volumes of pods that were deleted while `lading up` did not run."""
    found = {one.name for one in root.iterdir()} if root.is_dir() else set()
    for uid in found - set(uids):
        remove_volumes(root, uid)


def remove_volumes(root: Path, uid: str) -> None:
    shutil.rmtree(root / uid, ignore_errors=True)
