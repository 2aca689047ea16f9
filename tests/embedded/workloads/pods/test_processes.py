"""Containers that are processes of this machine."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from lading.adapters.clock import SystemClock
from lading.embedded.workloads.pods import processes as volumes
from lading.embedded.workloads.pods.inputs import ProcessInputs
from lading.embedded.workloads.pods.processes import (
    CANNOT_START,
    INHERITED,
    OUTPUT_BYTES_MAX,
    OutputTail,
    Processes,
)
from lading.embedded.workloads.pods.types import ProcessRecord, StartProcess
from lading.kernel.objects import Key
from tests.e2e import waiting
from tests.embedded.workloads.builders import command, pod

GUARD = "lading.embedded.workloads.pods.guard"


@asynccontextmanager
async def opened(**environment: str) -> AsyncIterator[tuple[Processes, list[Key]]]:
    woken: list[Key] = []
    processes = Processes(clock=SystemClock(), environment=environment, changed=woken.append)
    running = asyncio.create_task(processes.run())
    await asyncio.sleep(0)
    try:
        yield processes, woken
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def start(
    *arguments: str, container_id: str = "1", grace_seconds: int = 30, **environment: str
) -> StartProcess:
    one = pod(containers=(command(),), termination_grace_period_seconds=grace_seconds)
    return StartProcess(
        pod=one,
        container=one.spec.containers[0],
        container_id=container_id,
        inputs=ProcessInputs(arguments=arguments, environment=environment),
        because="",
    )


async def ended(processes: Processes) -> ProcessRecord:
    async def has_ended() -> bool:
        return processes.records("uid-p")["lading"].exit_code is not None

    await waiting.until(has_ended, "the process had ended")
    return processes.records("uid-p")["lading"]


async def test_a_command_ends_with_its_code_and_its_output() -> None:
    async with opened() as (processes, woken):
        processes.start(start("--version"))
        record = await ended(processes)
        assert (record.exit_code, record.output.split()[0]) == (0, "lading,")
        assert set(woken) == {Key("ns", "p")}


@pytest.mark.parametrize("after", ["\nthe end\n", " the end"], ids=["a line", "a word"])
@pytest.mark.parametrize("shown", [1, 8, 12, 20, 25])
def test_what_the_cut_of_an_output_halves_is_left_out(after: str, shown: int) -> None:
    """Wherever the cut is: without its beginning, a password in a URL does not look like one."""
    url = "https://carol:canary-4711@r"
    rest = after + "x " * ((OUTPUT_BYTES_MAX - shown - len(after)) // 2)
    tail = OutputTail()
    tail.add(url.encode())
    tail.add(rest.ljust(OUTPUT_BYTES_MAX - shown).encode())
    assert "4711" not in tail.text()
    assert "the end" in tail.text()


def test_an_output_that_is_not_cut_is_shown_whole() -> None:
    tail = OutputTail()
    tail.add(b"the first line\n")
    tail.add(b"the last words\n")
    assert tail.text() == "the first line\nthe last words\n"


async def test_the_end_of_a_long_output_is_kept() -> None:
    async with opened() as (processes, _):
        processes.start(start("crds"))
        record = await ended(processes)
        assert record.exit_code == 0
        assert record.output


@pytest.mark.parametrize(
    ("printed", "kept"),
    [
        pytest.param("x\n" * 100, "x\n" * 80, id="the last 80 lines"),
        pytest.param("x" * 2000 + " " + "y" * 2000, "y" * 2000, id="the last 2 KiB"),
    ],
)
async def test_as_much_as_a_kubelet_keeps_is_kept(printed: str, kept: str) -> None:
    stream = asyncio.StreamReader()
    stream.feed_data(printed.encode())
    stream.feed_eof()
    tail = OutputTail()
    await tail.read(stream)
    assert tail.text() == kept


async def test_the_same_container_is_started_once_and_another_again() -> None:
    async with opened() as (processes, _):
        processes.start(start("--version"))
        first = await ended(processes)
        processes.start(start("--version"))
        assert processes.records("uid-p")["lading"] is first
        processes.start(start("--version", container_id="2"))
        assert processes.records("uid-p")["lading"].exit_code is None
        await ended(processes)


async def test_a_stop_ends_the_process(tmp_path: Path) -> None:
    async with opened() as (processes, _):
        processes.start(start("up", f"--state-dir={tmp_path}", "--nodes=1"))

        async def is_up() -> bool:
            return (tmp_path / "first-set.yaml").exists()

        await waiting.until(is_up, "the command worked")
        processes.stop("uid-p")
        record = await ended(processes)
        assert record.exit_code in (0, 143), "SIGTERM ends it, handled or not"
        processes.forget("uid-p")
        assert processes.records("uid-p") == {}


async def test_only_named_variables_are_passed_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("NO_PROXY", "registry.example.com")
    async with opened(KUBECONFIG="given") as (processes, _):
        processes.start(start(*waiting_for_ever(tmp_path), OWN="1"))
        names = variables_of(await running_with(tmp_path))
        assert {"KUBECONFIG", "OWN", "NO_PROXY", "PATH"} <= names
        assert names <= {"KUBECONFIG", "OWN", *INHERITED}


async def test_what_does_not_end_in_its_grace_period_is_killed(tmp_path: Path) -> None:
    async with opened() as (processes, _):
        processes.start(start(*waiting_for_ever(tmp_path), grace_seconds=0))
        os.kill(await running_with(tmp_path), signal.SIGSTOP)  # so that it cannot end by itself
        processes.stop("uid-p")
        assert (await ended(processes)).exit_code == 137


async def test_a_variable_that_no_process_can_have_ends_the_container() -> None:
    async with opened() as (processes, _):
        processes.start(start("--version", BROKEN="zero\0byte"))
        record = await ended(processes)
        assert (record.exit_code, record.output) == (CANNOT_START, "embedded null byte")


async def test_nothing_outlives_the_loop(tmp_path: Path) -> None:
    async with opened() as (processes, _):
        processes.start(start("up", f"--state-dir={tmp_path}", "--nodes=1"))

        async def is_up() -> bool:
            return (tmp_path / "kubeconfig").exists()

        await waiting.until(is_up, "the command worked")
    assert processes_with(str(tmp_path)) == set()


def processes_with(word: str) -> set[str]:
    """The processes of this machine with such an argument."""
    found = set()
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            if folder.name.isdigit() and word.encode() in (folder / "cmdline").read_bytes():
                found.add(folder.name)
    return found


async def test_a_guard_without_its_parent_ends_at_once() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", GUARD, "1", "--version", stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert (await process.wait(), await process.stdout.read()) == (137, b"")


PARENT = """
import os, subprocess, sys, time
command = [sys.executable, "-m", sys.argv[1], str(os.getpid()), *sys.argv[2:]]
subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
time.sleep(3600)
"""
"""A process that starts a guard and then does nothing."""
NOBODY_THERE = """
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c}}]
current-context: c
"""


async def test_a_command_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, GUARD, *waiting_for_ever(tmp_path)
    )

    async def is_gone() -> bool:
        return not processes_with(str(tmp_path))

    try:
        await running_with(tmp_path)
    finally:
        parent.kill()
        await parent.wait()
    await waiting.until(is_gone, "the command ended with its parent")


def variables_of(pid: int) -> set[str]:
    pairs = Path(f"/proc/{pid}/environ").read_text().split("\0")
    return {one.partition("=")[0] for one in pairs if one}


def waiting_for_ever(folder: Path) -> tuple[str, ...]:
    """The arguments of a command that waits for an API server and a runtime that never come."""
    kubeconfig = folder / "nobody-there"
    kubeconfig.write_text(NOBODY_THERE)
    return (
        *("agent", "--node=n", f"--state-dir={folder}", f"--kubeconfig={kubeconfig}"),
        f"--runtime-endpoint=unix://{folder}/absent.sock",
    )


async def running_with(folder: Path) -> int:
    """The process ID of the command, when the guard has become it."""

    def found() -> set[str]:
        return processes_with("lading.cli.main") & processes_with(str(folder))

    async def is_running() -> bool:
        return len(found()) == 1

    await waiting.until(is_running, "the guard became the command")
    return int(found().pop())


def inputs(root: Path, **files: bytes) -> ProcessInputs:
    folder = root / "uid" / "c"
    return ProcessInputs(
        arguments=(),
        folder=str(folder),
        files={str(folder / "v" / name): content for name, content in files.items()},
    )


def test_only_the_user_can_read_the_files_of_a_volume_and_a_restart_replaces_them(
    tmp_path: Path,
) -> None:
    volumes.write_volumes(inputs(tmp_path, old=b"1"))
    volumes.write_volumes(inputs(tmp_path, new=b"2"))
    (file,) = (tmp_path / "uid/c/v").iterdir()
    assert (file.name, file.read_bytes()) == ("new", b"2")
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_the_volumes_of_deleted_pods_are_removed(tmp_path: Path) -> None:
    for uid in ("a", "b", "c"):
        (tmp_path / uid / "c").mkdir(parents=True)
    volumes.keep_volumes(tmp_path, {"a", "b"})
    volumes.remove_volumes(tmp_path, "b")
    assert [one.name for one in tmp_path.iterdir()] == ["a"]
    volumes.keep_volumes(tmp_path / "absent", ())
