"""Kubernetes pull secrets of both kinds, mounted and as the API gives them."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from lading.adapters.clock import VirtualClock
from lading.adapters.registry import endpoints, node_credentials, pull_secrets
from lading.ports.registry import Credential

ENTRIES = {"https://a.test/v1/": {"username": "u", "password": "p"}}
CAROL = Credential(username="u", password="p")
KINDS: list[tuple[str, Any]] = [
    (".dockerconfigjson", {"auths": ENTRIES}),
    (".dockercfg", ENTRIES),
]


def encoded(document: object) -> str:
    return base64.b64encode(json.dumps(document).encode()).decode()


@pytest.mark.parametrize(("key", "document"), KINDS)
def test_a_secret_of_the_api_is_read(key: str, document: Any) -> None:
    file = pull_secrets.parse({key: encoded(document)}, name="default/pull")
    assert file.credential_by_pattern == {"a.test": CAROL}
    assert file.problems == ()


@pytest.mark.parametrize(("key", "document"), KINDS)
async def test_a_mounted_secret_is_read_and_read_again_when_it_was_rotated(
    tmp_path: Path, key: str, document: Any
) -> None:
    """As the kubelet does it: the keys are links through `..data`, which is replaced."""
    app = endpoints.endpoint_at("a.test", "team/app")
    source = node_credentials.from_pull_secrets([tmp_path], VirtualClock(), print)
    assert await source.find(app) == ()
    mount(tmp_path, "..first", key, document)
    assert await source.find(app) == (CAROL,)
    mount(tmp_path, "..second", key, json.loads(json.dumps(document).replace('"u"', '"v"')))
    assert [one.username for one in await source.find(app)] == ["v"]


def mount(folder: Path, version: str, key: str, document: Any) -> None:
    (folder / version).mkdir()
    (folder / version / key).write_text(json.dumps(document))
    (folder / "..new").symlink_to(version)
    (folder / "..new").replace(folder / "..data")
    if not (folder / key).is_symlink():
        (folder / key).symlink_to(Path("..data", key))


async def test_one_malformed_entry_only_disables_itself(tmp_path: Path) -> None:
    problems: list[str] = []
    document = {"auths": {**ENTRIES, "b.test": {"auth": "%%%"}}}
    (tmp_path / ".dockerconfigjson").write_text(json.dumps(document))
    source = node_credentials.from_pull_secrets([tmp_path], VirtualClock(), problems.append)
    assert await source.find(endpoints.endpoint_at("a.test", "app")) == (CAROL,)
    assert len(problems) == 1
    assert "'b.test'" in problems[0]


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"password": encoded("x")},
        {".dockerconfigjson": "%%%"},
        {".dockerconfigjson": base64.b64encode(b"{").decode()},
        {".dockercfg": encoded([])},
    ],
)
def test_a_secret_that_is_no_pull_secret_is_a_problem(data: dict[str, str]) -> None:
    file = pull_secrets.parse(data, name="default/pull")
    assert file.credential_by_pattern == {}
    assert "default/pull" in file.problems[0]


def test_a_secret_cannot_name_a_program_to_run() -> None:
    document = {"auths": ENTRIES, "credsStore": "evil", "credHelpers": {"a.test": "evil"}}
    file = pull_secrets.parse({".dockerconfigjson": encoded(document)}, name="s")
    assert file.credential_by_pattern == {"a.test": CAROL}
    assert (file.default_helper, dict(file.helper_by_pattern)) == ("", {})
