"""Containers that are processes of this machine."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from lading.adapters.clock import SystemClock
from lading.kernel.objects import Key
from lading.standalone.workloads.pods.inputs import ProcessInputs
from lading.standalone.workloads.pods.processes import CANNOT_START, OUTPUT_BYTES_MAX, Processes
from lading.standalone.workloads.pods.types import ProcessRecord, StartProcess
from tests.e2e import waiting
from tests.standalone.workloads.builders import command, pod

GUARD = "lading.standalone.workloads.pods.guard"


@asynccontextmanager
async def opened(**environment: str) -> AsyncIterator[tuple[Processes, list[Key]]]:
    woken: list[Key] = []
    processes = Processes(clock=SystemClock(), environment=environment, changed=woken.append)
    running = asyncio.create_task(processes.run())
    await asyncio.sleep(0)
    yield processes, woken
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def start(*arguments: str, container_id: str = "1", **environment: str) -> StartProcess:
    one = pod(containers=(command(),), termination_grace_period_seconds=30)
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


async def test_the_end_of_a_long_output_is_kept() -> None:
    async with opened() as (processes, _):
        processes.start(start("crds"))
        record = await ended(processes)
        assert record.exit_code == 0
        assert len(record.output.encode()) <= OUTPUT_BYTES_MAX
        assert record.output


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
        processes.start(start("up", f"--data={tmp_path}", "--nodes=1"))

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
    async with opened(KUBECONFIG=str(tmp_path / "k")) as (processes, _):
        processes.start(start("get", "nodes", HOME=str(tmp_path)))
        record = await ended(processes)
        assert record.exit_code != 0
        assert str(tmp_path / "k") in record.output


async def test_a_variable_that_no_process_can_have_ends_the_container() -> None:
    async with opened() as (processes, _):
        processes.start(start("--version", BROKEN="zero\0byte"))
        record = await ended(processes)
        assert (record.exit_code, record.output) == (CANNOT_START, "embedded null byte")


async def test_nothing_outlives_the_loop(tmp_path: Path) -> None:
    async with opened() as (processes, _):
        processes.start(start("up", f"--data={tmp_path}", "--nodes=1"))

        async def is_up() -> bool:
            return (tmp_path / "kubeconfig").exists()

        await waiting.until(is_up, "the command worked")
    assert processes_with(str(tmp_path)) == []


def processes_with(word: str) -> list[str]:
    """The processes of this machine with such an argument."""
    found = []
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            if folder.name.isdigit() and word.encode() in (folder / "cmdline").read_bytes():
                found.append(folder.name)
    return found


async def test_a_guard_without_its_parent_ends_at_once() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", GUARD, "1", "--version", stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert (await process.wait(), await process.stdout.read()) == (137, b"")
