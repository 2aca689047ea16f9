"""What `lading up` makes of its options, and what it tells a person who starts it."""

import asyncio
import re
import shlex
from pathlib import Path
from typing import Any, NoReturn

import aiohttp
import pytest
from click.testing import CliRunner

from lading.adapters.clock import SystemClock
from lading.cli import up
from lading.embedded import cluster
from lading.embedded.cluster import ClusterOptions
from lading.embedded.cluster_registry import RegistrySettings
from lading.embedded.node import NodeDescription
from tests.cli.up_process import START_SECONDS_MAX, welcomed
from tests.e2e import waiting

PATH_WITHOUT_LADING = "/usr/bin:/bin"


class Opened(Exception):
    def __init__(self, options: ClusterOptions) -> None:
        self.options = options


def options_of(monkeypatch: pytest.MonkeyPatch, *words: str) -> ClusterOptions:
    """Those of the cluster that the command would open."""

    def opened(options: ClusterOptions, clock: Any) -> NoReturn:
        raise Opened(options)

    monkeypatch.setattr(cluster, "open_cluster", opened)
    result = CliRunner().invoke(up.command, words)
    assert isinstance(result.exception, Opened), result.output
    return result.exception.options


def test_the_options_reach_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("--registry-port", "5001", "--registry-auth", "--nodes", "2")
    found = options_of(monkeypatch, *words)
    assert found.registry == RegistrySettings(port=5001, with_password=True)
    assert [one.name for one in found.nodes] == ["node-1", "node-2"]


def test_without_the_option_the_registry_has_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    assert options_of(monkeypatch).registry == RegistrySettings()


async def welcome(data: Path, *, with_password: bool) -> str:
    options = ClusterOptions(
        data=data,
        nodes=(NodeDescription(name="node-1"),),
        registry=RegistrySettings(with_password=with_password),
    )
    async with cluster.open_cluster(options, SystemClock()) as made:
        return up.welcome(made, data, "http://127.0.0.1:1/", "http://127.0.0.1:2")


async def test_a_registry_with_a_password_is_welcomed_with_the_file_that_holds_it(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    # Not in tmp_path, which is as long as the name of the test: a socket's path is short.
    data = tmp_path_factory.mktemp("a b")
    shown = await welcome(data, with_password=True)
    file = data / "registry-auth.json"
    assert f", with the password in {file}\n" in shown
    assert f"  export REGISTRY_AUTH_FILE={shlex.quote(str(file))}\n" in shown
    assert f"  export KUBECONFIG={shlex.quote(str(data / 'kubeconfig'))}\n" in shown
    assert shlex.quote(str(data)) != str(data)
    password = (data / "registry-password").read_text().strip()
    assert len(password) > 20
    assert password not in shown


async def test_a_registry_without_one_is_not(tmp_path_factory: pytest.TempPathFactory) -> None:
    data = tmp_path_factory.mktemp("up")
    shown = await welcome(data, with_password=False)
    assert "password" not in shown
    assert "REGISTRY_AUTH_FILE" not in shown
    own = [line for line in shown.splitlines() if str(data) not in line and "PATH=" not in line]
    assert max(map(len, own)) <= 80
    assert "None" not in shown


def printed_commands(shown: str) -> list[str]:
    lines = shown.partition("In another terminal")[2].splitlines()
    return [line for line in lines if line.startswith("  ")]


@pytest.mark.timeout(300)
async def test_the_printed_commands_work_in_another_terminal(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """All of them, as they are, in a shell that knows nothing of the first one."""
    data = tmp_path_factory.mktemp("a b")
    async with welcomed(data, "--nodes", "2", path=PATH_WITHOUT_LADING) as (_, shown):
        commands = printed_commands(shown)
        assert len(commands) == 10, "the exports and what to run"
        shell = await asyncio.create_subprocess_exec(
            "/bin/sh", "-e",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={"PATH": PATH_WITHOUT_LADING, "HOME": str(data / "home")},
        )  # fmt: skip
        script = "\n".join(commands).encode()
        answered = await asyncio.wait_for(shell.communicate(script), START_SECONDS_MAX)
    output = answered[0].decode()
    assert shell.returncode == 0, output
    for line in (
        r"node-2 +Ready +worker +\S+ +v1\.",
        r"pinnedimageset/first created",
        r"node-2 +first +1/1 +Pinned +3/3",
        r"image/first created",
        r"first +deployed +2/2",
        r"\S+/first/app-3 +<none> ",
    ):
        assert re.search(f"^{line}", output, re.MULTILINE), f"no {line!r} in {output}"


@pytest.mark.timeout(300)
async def test_the_printed_metrics_are_served_with_the_status_of_each_process(
    tmp_path: Path,
) -> None:
    async with welcomed(tmp_path, "--metrics-port", "0") as (_, shown):
        found = re.search(r"^Metrics +(\S+)/metrics\n +(\S+)/metrics,", shown, re.MULTILINE)
        assert found is not None, shown
        controllers, node = found.groups()
        assert node == f"{controllers}/nodes/node-1"
        async with aiohttp.ClientSession() as session:

            async def page(url: str) -> str:
                async with session.get(url) as answer:
                    assert answer.status == 200, url
                    return await answer.text()

            async def is_ready() -> bool:
                async with session.get(f"{controllers}/readyz") as answer:
                    return answer.status == 200

            await waiting.until(is_ready, "the cluster is ready")
            assert await page(f"{controllers}/healthz") == "ok\n"
            assert await page(f"{node}/readyz") == "ok\n"
            assert 'controller="pinned-images-node"' in await page(f"{node}/metrics")
            assert 'controller="pinned-images-node"' not in await page(f"{controllers}/metrics")
            assert 'controller="pinned-images-sets"' in await page(f"{controllers}/metrics")
            async with session.get(f"{controllers}/nodes/node-2/metrics") as missing:
                assert missing.status == 404


@pytest.mark.parametrize("count", ["0", "101", "-1"])
def test_a_count_of_nodes_that_makes_no_sense_is_refused(count: str) -> None:
    result = CliRunner().invoke(up.command, ["--nodes", count])
    assert result.exit_code == 2
    assert "is not in the range 1<=x<=100" in result.output
