"""The program that holds an image, compiled where there is a compiler; nothing else needs one."""

import contextlib
import os
import shutil
import signal
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy import hold_program

END_SECONDS_MAX = 2.0
START_SECONDS_MAX = 10.0

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no C compiler")


@pytest.fixture(scope="module")
def hold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hold_program.compiled(tmp_path_factory.mktemp("hold"))


def until_it_waits(pid: int) -> None:
    """The program sleeps at no other place."""
    deadline = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < deadline:
        name, _, rest = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")
        if name.endswith("(hold") and rest.split()[0] == "S":
            return
        time.sleep(0.01)
    raise AssertionError("it never waited for signals")


@contextlib.contextmanager
def started(*command: Path | str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_waits_and_ends_at_once_on_a_signal(hold: Path, number: signal.Signals) -> None:
    with started(hold) as process:
        until_it_waits(process.pid)
        assert process.poll() is None
        process.send_signal(number)
        assert process.wait(END_SECONDS_MAX) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="a new PID namespace needs root")
@pytest.mark.skipif(shutil.which("unshare") is None, reason="util-linux is not installed")
def test_it_ends_at_once_as_pid_1(hold: Path) -> None:
    with started("unshare", "--pid", "--fork", "--kill-child", hold) as outer:
        children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children")
        deadline = time.monotonic() + START_SECONDS_MAX
        while not children.read_text().split() and time.monotonic() < deadline:
            time.sleep(0.01)
        (child,) = map(int, children.read_text().split())
        inside = Path(f"/proc/{child}/status").read_text(encoding="utf-8")
        assert (
            next(one for one in inside.splitlines() if one.startswith("NSpid")).split()[-1] == "1"
        )
        until_it_waits(child)
        os.kill(child, signal.SIGTERM)
        assert outer.wait(END_SECONDS_MAX) == 0


def test_it_copies_itself_so_that_every_user_can_run_it(hold: Path, tmp_path: Path) -> None:
    copy = tmp_path / "hold"
    subprocess.run([hold, copy], check=True, umask=0o077, timeout=10)
    assert copy.read_bytes() == hold.read_bytes()
    assert copy.stat().st_mode & 0o777 == 0o755
    assert list(tmp_path.iterdir()) == [copy]


def test_it_is_linked_statically(hold: Path) -> None:
    """No program interpreter: an image may hold no library at all."""
    program = hold.read_bytes()
    (offset,) = struct.unpack_from("<Q", program, 32)
    size, count = struct.unpack_from("<HH", program, 54)
    types = {struct.unpack_from("<I", program, offset + n * size)[0] for n in range(count)}
    assert 1 in types  # what is loaded
    assert 3 not in types  # the name of an interpreter


def test_a_copy_that_fails_says_why(hold: Path, tmp_path: Path) -> None:
    ended = subprocess.run(
        [hold, tmp_path / "missing" / "hold"], capture_output=True, text=True, timeout=10
    )
    assert ended.returncode == 1
    assert "No such file or directory" in ended.stderr
