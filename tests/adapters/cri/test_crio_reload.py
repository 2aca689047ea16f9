"""Telling CRI-O to reload: the signal arrives, systemd is asked, and failures say what is wrong."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from lading.adapters.cri import crio_reload
from lading.ports import cri

REPORT_THE_SIGNAL = """
import signal, sys
signal.signal(signal.SIGHUP, lambda *_: sys.exit("reloaded"))
print("ready", flush=True)
signal.pause()
"""


async def started(*command: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)


async def test_the_process_gets_the_signal() -> None:
    process = await started(sys.executable, "-c", REPORT_THE_SIGNAL)
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    await crio_reload.by_signal(process.pid)()
    _, said = await process.communicate()
    assert said == b"reloaded\n"


async def test_a_process_that_is_gone_is_unavailable() -> None:
    process = await started(sys.executable, "-c", "")
    await process.communicate()
    with pytest.raises(cri.Unavailable, match=f"process {process.pid} is gone"):
        await crio_reload.by_signal(process.pid)()


async def test_the_process_that_listens_on_the_socket_gets_the_signal(tmp_path: Path) -> None:
    listening = (
        f"import socket; s = socket.socket(socket.AF_UNIX); s.bind('{tmp_path}/s'); s.listen()\n"
    )
    process = await started(sys.executable, "-c", listening + REPORT_THE_SIGNAL)
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    await crio_reload.by_signal_to_listener(f"unix://{tmp_path}/s")()
    _, said = await process.communicate()
    assert said == b"reloaded\n"


async def test_a_socket_without_a_listener_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(cri.Unavailable, match="nobody listens on"):
        await crio_reload.by_signal_to_listener(f"unix://{tmp_path}/absent")()


@pytest.mark.parametrize(("code", "succeeds"), [(0, True), (5, False)])
async def test_systemd_is_asked_and_its_words_are_passed_on(
    code: int, succeeds: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = tmp_path / "asked"
    program = tmp_path / "systemctl"
    program.write_text(f"#!/bin/sh\necho $* > {asked}\necho 'Unit is masked' >&2\nexit {code}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    if succeeds:
        await crio_reload.by_systemd()()
    else:
        with pytest.raises(cri.Unavailable, match="Unit is masked"):
            await crio_reload.by_systemd()()
    assert asked.read_text() == "reload crio.service\n"
