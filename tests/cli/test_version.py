"""`lading version`: always this program, and the server where one answers."""

import json
import platform
import socket
from pathlib import Path

import pytest

import lading
from lading.adapters.clock import SystemClock
from lading.embedded import api_server
from tests import command


async def test_the_versions_of_program_and_server(tmp_path: Path) -> None:
    async with api_server.serve(tmp_path, SystemClock()) as api:
        where = ("--kubeconfig", str(api.kubeconfig))
        result = await command.lading("version", "-o", "json", *where)
        found = json.loads(result.output)
        assert found["lading"] == lading.__version__
        assert found["server"].startswith("v1.")
        assert found["python"] == platform.python_version()
        shown = await command.lading("version", *where)
    assert shown.output.startswith(f"lading: {lading.__version__}\n")


async def test_a_server_that_does_not_answer_is_a_warning(tmp_path: Path) -> None:
    async with api_server.serve(tmp_path, SystemClock()) as api:
        kubeconfig = api.kubeconfig
    result = await command.lading("version", "--kubeconfig", str(kubeconfig))
    assert (result.code, result.output.splitlines()[0]) == (0, f"lading: {lading.__version__}")
    assert "Warning: the version of the API server is unknown" in result.errors


async def test_without_a_cluster_only_the_program_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("lading.cli.connection.DEFAULT_DATA", tmp_path)
    result = await command.lading("version")
    assert (result.code, result.errors) == (0, "")
    assert "server" not in result.output


async def test_a_kubeconfig_that_cannot_be_read_is_a_warning(tmp_path: Path) -> None:
    """The report of a bug may be about just that."""
    broken = tmp_path / "kubeconfig"
    broken.write_text("[]")
    result = await command.lading("version", "--kubeconfig", str(broken))
    assert (result.code, result.output.splitlines()[0]) == (0, f"lading: {lading.__version__}")
    assert f"unknown: {broken}: expected a mapping" in result.errors


async def test_a_server_that_is_silent_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lading.cli.version._SERVER_SECONDS_MAX", 0.2)
    kubeconfig = tmp_path / "kubeconfig"
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        server = f"http://127.0.0.1:{silent.getsockname()[1]}"
        kubeconfig.write_text(
            "{current-context: c, contexts: [{name: c, context: {cluster: c}}],"
            f" clusters: [{{name: c, cluster: {{server: '{server}'}}}}]}}"
        )
        result = await command.lading("version", "--kubeconfig", str(kubeconfig))
    assert (result.code, result.output.splitlines()[0]) == (0, f"lading: {lading.__version__}")
    assert "unknown: no answer within 0.2 s" in result.errors
