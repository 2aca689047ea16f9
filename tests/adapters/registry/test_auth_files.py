"""Credential files: which entry fits, and what a malformed one costs."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from lading.adapters.registry import auth_files, endpoints, image_patterns
from lading.adapters.registry.auth_files import AuthFile
from lading.adapters.registry.credentials import Table
from lading.ports.registry import Credential


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def parsed(document: Any) -> AuthFile:
    return auth_files.parse(json.dumps(document).encode(), name="config.json")


async def found(file: AuthFile, host: str, repository: str = "team/app") -> list[str]:
    endpoint = endpoints.endpoint_at(host, repository)
    return [each.username for each in await Table(file.credential_by_pattern).find(endpoint)]


async def test_the_longest_prefix_comes_first() -> None:
    users = {
        "example.test": "host",
        "example.test/team": "path",
        "example.test/team/app": "repository",
        "example.test/tea": "other path",
        "example.test:5000": "port",
    }
    file = parsed({"auths": {key: {"auth": encoded(f"{user}:x")} for key, user in users.items()}})
    assert await found(file, "example.test") == ["repository", "path", "host"]
    assert await found(file, "example.test", "team/application") == ["path", "host"]
    assert await found(file, "example.test:5000") == ["port"]
    assert await found(file, "example.test:6000") == []


@pytest.mark.parametrize(
    "key", ["https://index.docker.io/v1/", "docker.io", "index.docker.io", "registry-1.docker.io"]
)
async def test_docker_hub_is_known_by_all_its_names(key: str) -> None:
    file = parsed({"auths": {key: {"auth": encoded("hub:x")}}})
    assert await found(file, "docker.io") == ["hub"]


@pytest.mark.parametrize(
    ("entry", "credential"),
    [
        ({"auth": encoded("u:p:with:colons")}, Credential(username="u", password="p:with:colons")),
        ({"username": "u", "password": "p"}, Credential(username="u", password="p")),
        ({"auth": encoded("<token>:refresh")}, Credential(identity_token="refresh")),
        (
            {"auth": encoded("u:"), "identitytoken": "refresh"},
            Credential(username="u", identity_token="refresh"),
        ),
        ({"registrytoken": "bearer"}, Credential(registry_token="bearer")),
    ],
    ids=["auth", "two fields", "token user", "identity token", "registry token"],
)
def test_an_entry_is_read_in_all_its_forms(entry: dict[str, str], credential: Credential) -> None:
    assert parsed({"auths": {"a.test": entry}}).credential_by_pattern == {"a.test": credential}


@pytest.mark.parametrize(
    "entry", [{"auth": "not base64!"}, {"auth": encoded("no colon")}, "text", {"auth": 5}]
)
def test_a_malformed_entry_disables_only_itself_and_shows_no_secret(entry: Any) -> None:
    file = parsed({"auths": {"bad.test": entry, "good.test": {"auth": encoded("u:p")}}})
    assert list(file.credential_by_pattern) == ["good.test"]
    [problem] = file.problems
    assert "bad.test" in problem
    assert "no colon" not in problem


def test_an_empty_entry_means_that_a_helper_has_it() -> None:
    file = parsed({"auths": {"a.test": {}}, "credsStore": "desktop"})
    assert (file.credential_by_pattern, file.problems) == ({}, ())
    assert file.default_helper == "desktop"


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"[" * 100_000, b'{"auths": []}'])
def test_a_file_that_is_no_configuration_is_a_problem(content: bytes) -> None:
    file = auth_files.parse(content, name="config.json")
    assert file.credential_by_pattern == {}
    assert "config.json" in file.problems[0]


def test_a_malformed_helper_only_disables_itself() -> None:
    file = parsed(
        {
            "auths": {"a.test": {"auth": encoded("u:p")}},
            "credHelpers": {"b.test": ["broken"], "c.test": "works"},
        }
    )
    assert list(file.credential_by_pattern) == ["a.test"]
    assert file.helper_by_pattern == {"c.test": "works"}
    assert [("'b.test'" in problem) for problem in file.problems] == [True]


def test_a_file_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    assert auth_files.read(tmp_path / "absent.json") == AuthFile()


@pytest.mark.parametrize(
    ("pattern", "image", "fits"),
    [
        ("*.dkr.ecr.*.amazonaws.com", "1.dkr.ecr.eu-west-1.amazonaws.com/app", True),
        ("*.dkr.ecr.*.amazonaws.com", "dkr.ecr.eu-west-1.amazonaws.com/app", False),
        ("*.example.test", "a.b.example.test/app", False),
        ("*.example.test:5000", "a.example.test:5000/app", True),
        ("*.example.test", "a.example.test:5000/app", False),
        ("ex*mple.test", "example.test/app", True),
        ("example.test/team", "example.test/team", True),
        ("example.test/team", "example.test/teams/app", False),
        ("example.test", "example.test.evil/app", False),
        ("[::1]:5000", "[::1]:5000/app", True),
    ],
)
def test_patterns_fit_as_the_kubelet_says(pattern: str, image: str, fits: bool) -> None:
    assert image_patterns.matches(pattern, image) is fits
