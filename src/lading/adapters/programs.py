"""Runs a credential program: no shell, one document in, one document out, bounded time and size.

Docker's credential helpers, the kubelet's credential providers and kubectl's exec plugins are such
programs. Standard output is a secret and never shown; a failure shows standard error, shortened.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence

from lading.kernel import errors as kernel_errors
from lading.kernel.values import Redacted

PROGRAM_SECONDS_MAX = 60.0  # what the kubelet gives its credential plugins
OUTPUT_BYTES_MAX = 1024 * 1024


class ProgramFailed(Exception):
    """Names the program and the reason; `output` may be a secret, and is never shown."""

    def __init__(self, program: str, reason: str, *, output: bytes = b"") -> None:
        super().__init__(f"the credential program {program} {reason}")
        self.reason = reason
        self.output = output


class Program(Redacted, frozen=True, kw_only=True):
    shown = ("command", "interactive")

    command: Sequence[str]
    environment: Mapping[str, str] = {}
    interactive: bool = False
    """It may ask a person: it gets our terminal instead of a document."""

    async def run(
        self, document: bytes = b"", *, seconds_max: float = PROGRAM_SECONDS_MAX
    ) -> bytes:
        process = await self._started()
        try:
            async with asyncio.timeout(seconds_max):
                output, complaint = await self._exchange(process, document)
                if len(output) > OUTPUT_BYTES_MAX:
                    raise self._failure(f"printed more than {OUTPUT_BYTES_MAX} bytes")
                await process.wait()
        except TimeoutError as error:
            raise self._failure(f"did not end within {seconds_max:g} s") from error
        finally:
            if process.returncode is None:
                await self._end(process)
        if process.returncode != 0:
            shown = kernel_errors.shown(complaint.decode("utf-8", "replace").strip())
            reason = f"ended with exit code {process.returncode}: {shown}"
            raise self._failure(reason, output=output)
        return output

    async def _started(self) -> asyncio.subprocess.Process:
        try:
            return await asyncio.create_subprocess_exec(
                *self.command,
                stdin=None if self.interactive else asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env={**os.environ, **self.environment},
                # A session of its own is killed whole, but has no terminal.
                start_new_session=not self.interactive,
            )
        except (OSError, ValueError) as error:  # ValueError: a zero byte in an argument
            reason = error.strerror if isinstance(error, OSError) else error
            raise self._failure(f"cannot be started: {reason}") from error

    async def _exchange(
        self, process: asyncio.subprocess.Process, document: bytes
    ) -> tuple[bytes, bytes]:
        assert process.stdout is not None
        assert process.stderr is not None
        if process.stdin is not None:
            process.stdin.write(document)
            process.stdin.close()
        return await asyncio.gather(
            self._limited(process.stdout, process), self._limited(process.stderr, process)
        )

    async def _limited(
        self, stream: asyncio.StreamReader, process: asyncio.subprocess.Process
    ) -> bytes:
        """Everything that arrives; a program that prints more than the limit is ended."""
        content = bytearray()
        while piece := await stream.read(OUTPUT_BYTES_MAX):
            content += piece
            if len(content) > OUTPUT_BYTES_MAX:
                self._kill(process)
        return bytes(content)

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        """Ends the program; its pipes are emptied, or waiting for it would never end."""
        self._kill(process)
        await process.communicate()

    def _kill(self, process: asyncio.subprocess.Process) -> None:
        """Ends the program, and the processes that it started."""
        with contextlib.suppress(ProcessLookupError):
            if self.interactive:
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)

    def _failure(self, reason: str, *, output: bytes = b"") -> ProgramFailed:
        return ProgramFailed(self.command[0], reason, output=output)
