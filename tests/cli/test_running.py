"""A command that waits ends at --timeout, and at Ctrl-C without a word; both have an exit code."""

import asyncio
import json
import socket
from collections.abc import Coroutine, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from lading.cli import running
from lading.cli.main import lading_command
from lading.embedded import sample_sets

IMAGE = f"quay.io/app@sha256:{'a' * 64}"
SHORT = "300ms"


@pytest.fixture
def silent_cluster(tmp_path: Path) -> Iterator[str]:
    """The kubeconfig of an API server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        content = {
            "clusters": [{"name": "c", "cluster": {"server": url}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "c",
        }
        path = tmp_path / "kubeconfig"
        path.write_text(json.dumps(content))
        yield str(path)


@pytest.fixture
def silent_runtime(tmp_path: Path) -> Iterator[str]:
    path = tmp_path / "runtime.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        yield f"unix://{path}"


def ended(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(lading_command, [*arguments, "--timeout", SHORT])
    return result.exit_code, result.output


def test_a_watch_of_the_status_ends(silent_cluster: str) -> None:
    code, output = ended("pin", "status", "--watch", "--kubeconfig", silent_cluster)
    assert (code, output) == (124, "Error: not done after 0.3s; run it again to continue waiting\n")


def test_an_apply_ends(silent_cluster: str, silent_runtime: str, tmp_path: Path) -> None:
    path = tmp_path / "sets.json"
    path.write_text(json.dumps(sample_sets.set_of("s", [IMAGE])))
    assert ended("apply", "-f", str(path), "--kubeconfig", silent_cluster)[0] == 124
    place = ("--runtime-endpoint", silent_runtime, "--state-dir", str(tmp_path / "state"))
    code, output = ended("apply", "-f", str(path), *place)
    assert code == 124, output


def test_a_pull_ends(silent_runtime: str) -> None:
    code, output = ended("image", "pull", IMAGE, "--runtime-endpoint", silent_runtime)
    assert code == 124, output


@pytest.mark.parametrize("text", ["0", "-1s", "soon"])
def test_a_time_that_cannot_be_is_a_wrong_command_line(text: str) -> None:
    result = CliRunner().invoke(lading_command, ["pin", "status", "--timeout", text])
    assert result.exit_code == 2
    assert "--timeout" in result.output


def test_a_timeout_of_the_work_itself_is_not_that_of_the_command() -> None:
    async def work() -> None:
        raise TimeoutError("a request took too long")

    with pytest.raises(TimeoutError, match="a request took too long"):
        running.run(work(), timeout=timedelta(minutes=1))


def test_work_that_ends_in_time_ends_as_ever() -> None:
    async def work() -> None:
        await asyncio.sleep(0)
        click.echo("done")

    running.run(work(), timeout=timedelta(minutes=1))


def test_ctrl_c_ends_a_command_without_a_word(
    silent_cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(work: Coroutine[Any, Any, None]) -> None:
        work.close()
        raise KeyboardInterrupt

    monkeypatch.setattr(asyncio, "run", interrupted)
    result = CliRunner().invoke(lading_command, ["get", "pis", "--kubeconfig", silent_cluster])
    assert (result.exit_code, result.output) == (130, "")
