"""Telling CRI-O to reload: the signal arrives, systemd is asked, and failures say what is wrong."""

import asyncio
import os
import shutil
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


async def test_a_process_is_found_by_its_name(tmp_path: Path) -> None:
    name = f"crio-{os.getpid()}"
    program = shutil.copy(shutil.which("sleep") or "", tmp_path / name)
    process = await started(str(program), "60")
    try:
        assert crio_reload._process_named(name) == process.pid
    finally:
        process.kill()
        await process.communicate()


def test_a_process_that_cannot_be_seen_is_unavailable_with_the_likely_reason() -> None:
    with pytest.raises(cri.Unavailable, match="share the host's process namespace"):
        crio_reload._process_named("no-such-program")


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
