"""The credentials of a machine: where they are looked for, and that a rotated secret is noticed."""

import base64
import json
from pathlib import Path

import pytest

from lading.adapters.clock import VirtualClock
from lading.adapters.registry import endpoints, node_credentials
from lading.adapters.registry.credentials import CredentialSource

APP = endpoints.endpoint_at("example.test", "team/app")


def write(path: Path, user: str) -> None:
    """As a secret is rotated: a new file takes the place of the old one."""
    auth = base64.b64encode(f"{user}:secret".encode()).decode()
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps({"auths": {"example.test": {"auth": auth}}}))
    beside.replace(path)


async def users(source: CredentialSource) -> list[str]:
    return [each.username for each in await source.find(APP)]


async def test_a_file_that_comes_changes_and_goes_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    problems: list[str] = []
    source = node_credentials.from_auth_files([file], VirtualClock(), problems.append)
    assert await users(source) == []
    for user in ("carol", "david"):
        write(file, user)
        assert await users(source) == [user]
    file.write_text("{")
    assert await users(source) == []
    assert [str(file) in problem for problem in problems] == [True]
    file.unlink()
    assert await users(source) == []


async def test_a_problem_is_reported_at_the_start_and_once(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text("{")
    problems: list[str] = []
    source = node_credentials.from_auth_files([file], VirtualClock(), problems.append)
    assert len(problems) == 1
    await users(source)
    assert len(problems) == 1


@pytest.mark.parametrize("root", ["/", "/host"])
def test_the_file_of_the_kubelet_is_the_hosts(root: str) -> None:
    paths = node_credentials.auth_file_paths({"HOME": "/home/carol"}, Path(root))
    assert paths[-1] == Path(root, "var/lib/kubelet/config.json")
    assert Path("/home/carol/.docker/config.json") in paths


async def test_a_folder_of_provider_configurations_is_read_in_order(tmp_path: Path) -> None:
    plugins, configs = tmp_path / "plugins", tmp_path / "configs"
    plugins.mkdir()
    configs.mkdir()
    for file, user in (("20.yaml", "second"), ("10.json", "first"), ("30.txt", "never")):
        answer = {
            "kind": "CredentialProviderResponse",
            "apiVersion": "credentialprovider.kubelet.k8s.io/v1",
            "cacheKeyType": "Registry",
            "auth": {"example.test": {"username": user, "password": "secret"}},
        }
        plugin = plugins / user
        plugin.write_text(f"#!/bin/sh\necho '{json.dumps(answer)}'\n")
        plugin.chmod(0o755)
        provider = {
            "name": user,
            "matchImages": ["example.test"],
            "defaultCacheDuration": "1h",
            "apiVersion": "credentialprovider.kubelet.k8s.io/v1",
        }
        document = {"apiVersion": "kubelet.config.k8s.io/v1", "providers": [provider]}
        (configs / file).write_text(json.dumps(document))
    problems: list[str] = []
    source = node_credentials.from_providers(
        configs, folder=plugins, clock=VirtualClock(), report=problems.append
    )
    assert await users(source) == ["first", "second"]
    assert problems == []
