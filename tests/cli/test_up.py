"""`lading up` as a process: it starts, stops cleanly, goes on, and survives kill -9."""

import asyncio
import contextlib
import json
import os
import secrets
import signal
import socket
from pathlib import Path

import aiohttp
import pytest

from lading.adapters.cri.client import CriClient
from lading.adapters.kube.client import KubeClient
from lading.api.core import CONFIG_MAPS, NODES
from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.ports import kube
from lading.wire import calls
from tests.cli.up_process import START_SECONDS_MAX, client_of, up, welcomed
from tests.command import lading

STOP_SECONDS_MAX = START_SECONDS_MAX
WRITES_BEFORE_THE_KILL = 40

pytestmark = pytest.mark.timeout(300)


async def names(client: KubeClient) -> set[str]:
    return {one.metadata.name async for one in client.each(CONFIG_MAPS)}


async def appears(client: KubeClient, pool: str) -> None:
    """The controllers make the default pools a moment after the start."""
    async with asyncio.timeout(START_SECONDS_MAX):
        async for event in client.watch(
            MACHINE_CONFIG_POOLS, send_initial_events=True, timeout_seconds=60
        ):
            if event.object is not None and event.object.metadata.name == pool:
                return


async def test_it_stops_cleanly_and_goes_on_from_its_data(tmp_path: Path) -> None:
    async with up(tmp_path) as process, client_of(tmp_path) as client:
        body = {"metadata": {"name": "kept", "namespace": "default"}}
        await client.create(CONFIG_MAPS, body, namespace="default")
        process.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(process.wait(), STOP_SECONDS_MAX) == 0
    async with up(tmp_path), client_of(tmp_path) as client:
        assert "kept" in await names(client)
        assert (await client.get(NODES, "node-1")).metadata.name == "node-1"
        await appears(client, "worker")


def unassigned_port() -> int:
    """Below those that systems assign, so that no other process takes it in between."""
    for port in secrets.SystemRandom().sample(range(20_000, 30_000), 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("a hundred ports were taken")


async def test_a_registry_does_not_move_by_itself(tmp_path: Path) -> None:
    """Every object would name images that are no longer served."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        (tmp_path / "registry-port").write_text(str(port))
        shown = await refusal(tmp_path)
    assert f"the port {port} of the registry is used by another process" in shown
    assert "--registry-port PORT" in shown
    assert (tmp_path / "registry-port").read_text() == str(port)


async def test_a_registry_that_is_moved_keeps_its_port_and_names_the_objects_to_change(
    tmp_path: Path,
) -> None:
    where = ("--kubeconfig", str(tmp_path / "kubeconfig"))
    async with up(tmp_path) as process:
        for name in ("first-set.yaml", "first-image.yaml"):
            assert (await lading("apply", "-f", str(tmp_path / name), *where)).code == 0
        old = (tmp_path / "registry-port").read_text()
        process.send_signal(signal.SIGINT)
        await asyncio.wait_for(process.wait(), STOP_SECONDS_MAX)
    new = str(unassigned_port())
    for port in (("--registry-port", new), ()):
        async with welcomed(tmp_path, *port) as (process, shown):
            assert shown.startswith(
                f"Warning: the address of the registry changed from 127.0.0.1:{old} to"
                f" 127.0.0.1:{new}. 2 objects name images at the old address:"
                " pinnedimageset/first, image/first."
            ), "at every start, until they are changed"
            assert f"--registry-port {old}." in shown
            process.send_signal(signal.SIGINT)
            await asyncio.wait_for(process.wait(), STOP_SECONDS_MAX)


async def test_no_acknowledged_write_is_lost_by_kill_minus_nine(tmp_path: Path) -> None:
    acknowledged: set[str] = set()
    enough = asyncio.Event()
    async with up(tmp_path) as process, client_of(tmp_path) as client:

        async def write() -> None:
            for number in range(10_000):
                name = f"write-{number}"
                await client.create(
                    CONFIG_MAPS, {"metadata": {"name": name}, "data": {"k": "v" * 2000}},
                    namespace="default",
                )  # fmt: skip
                acknowledged.add(name)
                if len(acknowledged) == WRITES_BEFORE_THE_KILL:
                    enough.set()

        writing = asyncio.create_task(write())
        await asyncio.wait_for(enough.wait(), START_SECONDS_MAX)
        process.kill()
        await process.wait()
        writing.cancel()
        results = await asyncio.gather(writing, return_exceptions=True)
        assert isinstance(results[0], asyncio.CancelledError | kube.KubeError)
    async with up(tmp_path), client_of(tmp_path) as client:
        assert len(acknowledged) >= WRITES_BEFORE_THE_KILL
        assert acknowledged <= await names(client)


async def test_its_nodes_have_the_handlers_of_a_runtime_configuration(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "examples" / "04-runtime-classes/handlers.toml"
    async with (
        up(tmp_path, "--runtime-config", str(example)),
        calls.channel_to(f"unix://{tmp_path}/nodes/node-1/runtime.sock") as channel,
    ):
        status = await CriClient(channel).status()
    assert {one.name for one in status.handlers} == {
        *("", "runc", "kata", "kata-arm", "runhcs-wcow-2019")
    }


async def test_a_second_one_on_the_same_data_is_refused_with_a_sentence(tmp_path: Path) -> None:
    async with up(tmp_path):
        assert "in use by another process" in await refusal(tmp_path)


async def test_a_folder_with_too_long_a_name_is_refused_with_a_sentence(tmp_path: Path) -> None:
    shown = await refusal(tmp_path / ("x" * 100))
    assert shown.startswith("Error: cannot create a socket at ")
    assert "at most 107 bytes" in shown


async def refusal(data: Path) -> str:
    result = await asyncio.wait_for(lading("up", "--state-dir", str(data)), START_SECONDS_MAX)
    assert result.code == 1
    return result.output + result.errors


async def test_it_runs_in_any_folder_and_with_state_files_that_cannot_be_read(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    # Not in tmp_path, which is as long as the name of the test: a socket's path is short.
    data = tmp_path_factory.mktemp("a b%20c#d")
    for note in ("registry-port", "first-set.yaml"):
        (data / note).write_bytes(b"\xff\xfe")
    async with (
        up(data),
        calls.channel_to(f"unix://{data}/nodes/node-1/runtime.sock") as channel,
    ):
        assert (await CriClient(channel).version()).name == "lading"
        assert (data / "registry-port").read_text() in (data / "first-set.yaml").read_text()


async def test_a_folder_that_others_can_write_is_refused_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "admin-token").write_text("planted")
    os.chmod(tmp_path, 0o777)
    assert "can be written by other users" in await refusal(tmp_path)


async def test_with_a_password_the_registry_serves_only_who_has_it(tmp_path: Path) -> None:
    where = ("--kubeconfig", str(tmp_path / "kubeconfig"))
    async with up(tmp_path, "--registry-auth"), aiohttp.ClientSession() as session:
        port = (tmp_path / "registry-port").read_text()
        given = json.loads((tmp_path / "registry-auth.json").read_text())["auths"]
        login = {"Authorization": f"Basic {given[f'127.0.0.1:{port}']['auth']}"}
        for headers, status in (({}, 401), (login, 200)):
            async with session.get(f"http://127.0.0.1:{port}/v2/", headers=headers) as answer:
                assert answer.status == status
        for name in ("registry-password", "registry-auth.json"):
            assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
        first = ("-f", str(tmp_path / "first-set.yaml"))
        assert (await lading("apply", *first, *where)).code == 0
        pinned = await lading("pin", "status", "-w", *where)
        assert "Pinned" in pinned.output.splitlines()[-1], "the nodes have the password"
