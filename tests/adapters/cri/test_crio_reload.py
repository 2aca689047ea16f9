"""Telling CRI-O to reload: the signal arrives, and failures say what is wrong."""

import asyncio
import sys
from pathlib import Path

import pytest

from lading.adapters.cri import crio_reload
from lading.ports import cri

REPORT_THE_SIGNAL = """
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])
print("ready", flush=True)
signal.sigwait([signal.SIGHUP])
sys.exit("reloaded")
"""


async def started(*command: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)


async def test_the_process_that_listens_on_the_socket_gets_the_signal(tmp_path: Path) -> None:
    listening = (
        f"import socket; s = socket.socket(socket.AF_UNIX); s.bind('{tmp_path}/s'); s.listen()\n"
    )
    process = await started(sys.executable, "-c", listening + REPORT_THE_SIGNAL)
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    await crio_reload.by_signal(f"unix://{tmp_path}/s")()
    _, output = await process.communicate()
    assert output == b"reloaded\n"


async def test_a_socket_without_a_listener_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(cri.Unavailable, match="cannot connect to"):
        await crio_reload.by_signal(f"unix://{tmp_path}/absent")()
