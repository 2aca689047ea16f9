"""What `lading up` makes of its options, and what it tells a person who starts it."""

import shlex
from pathlib import Path
from typing import Any, NoReturn

import pytest
from click.testing import CliRunner

from lading.adapters.clock import SystemClock
from lading.cli import up
from lading.standalone import cluster
from lading.standalone.cluster import ClusterOptions
from lading.standalone.node import NodeDescription
from lading.standalone.registry import RegistrySettings


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


def test_the_options_of_the_registry_reach_it(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("--registry-quota", "3Gi", "--registry-blob-max", "2Gi", "--registry-name", "a.test")
    found = options_of(monkeypatch, *words, "--registry-port", "5001", "--registry-auth").registry
    assert found.limits.store_bytes_max == 3 * 1024**3
    assert found.limits.blob_bytes_max == 2 * 1024**3
    assert (found.names, found.port, found.with_password) == (("a.test",), 5001, True)


def test_without_the_option_the_registry_has_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    assert options_of(monkeypatch).registry == RegistrySettings()


async def welcome(data: Path, *, with_password: bool) -> str:
    options = ClusterOptions(
        data=data,
        nodes=(NodeDescription(name="node-1"),),
        registry=RegistrySettings(with_password=with_password),
    )
    async with cluster.open_cluster(options, SystemClock()) as made:
        return up.welcome(made, data, "http://127.0.0.1:1/")


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
    shown = await welcome(tmp_path_factory.mktemp("up"), with_password=False)
    assert "password" not in shown
    assert "REGISTRY_AUTH_FILE" not in shown
    assert "None" not in shown
