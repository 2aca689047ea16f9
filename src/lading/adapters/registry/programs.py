"""Runs a credential program: no shell, one document in, one document out, bounded time and size.

What it prints on stdout is a secret and never shown; a failure shows the end of its stderr.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lading.kernel import errors as kernel_errors

PROGRAM_SECONDS_MAX = 60.0  # what the kubelet gives its credential plugins
OUTPUT_BYTES_MAX = 1024 * 1024


class ProgramFailed(Exception):
    """Names the program and what went wrong; `output` may be a secret, and is never shown."""

    def __init__(self, message: str, *, output: bytes = b"") -> None:
        super().__init__(message)
        self.output = output


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    async def run(self, document: bytes, *, seconds_max: float = PROGRAM_SECONDS_MAX) -> bytes:
        process = await self._started()
        try:
            async with asyncio.timeout(seconds_max):
                output, complaint = await _exchange(process, document)
                if len(output) > OUTPUT_BYTES_MAX:
                    raise self._failure(f"printed more than {OUTPUT_BYTES_MAX} bytes")
                await process.wait()
        except TimeoutError as error:
            raise self._failure(f"did not end within {seconds_max:g} s") from error
        finally:
            if process.returncode is None:
                await _end(process)
        if process.returncode != 0:
            said = complaint.decode("utf-8", "replace").strip()
            reason = f"ended with {process.returncode}: {kernel_errors.shown(said)}"
            raise self._failure(reason, output=output)
        return output

    async def _started(self) -> asyncio.subprocess.Process:
        try:
            return await asyncio.create_subprocess_exec(
                *self.command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env={**os.environ, **self.environment},
                start_new_session=True,
            )
        except OSError as error:
            raise self._failure(f"cannot be started: {error.strerror}") from error

    def _failure(self, reason: str, *, output: bytes = b"") -> ProgramFailed:
        return ProgramFailed(f"the credential program {self.command[0]} {reason}", output=output)


async def _exchange(process: asyncio.subprocess.Process, document: bytes) -> tuple[bytes, bytes]:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(document)
    process.stdin.close()
    return await asyncio.gather(
        _limited(process.stdout, process), _limited(process.stderr, process)
    )


async def _limited(stream: asyncio.StreamReader, process: asyncio.subprocess.Process) -> bytes:
    """Everything that comes; a program that prints more than the limit is ended for it."""
    content = bytearray()
    while piece := await stream.read(OUTPUT_BYTES_MAX):
        content += piece
        if len(content) > OUTPUT_BYTES_MAX:
            _kill(process)
    return bytes(content)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ends the program; its pipes are emptied, or waiting for it would never end."""
    _kill(process)
    await process.communicate()


def _kill(process: asyncio.subprocess.Process) -> None:
    """Ends the program and what it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
