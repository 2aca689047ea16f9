"""How the registry is reached: R01 to R11 of the reference, by the command."""

import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from lading.embedded.registry import server as registry_server
from tests import command
from tests.adapters.kube.certificates import Authority
from tests.command import CommandResult


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    tls: bool
    address: str
    """`{host}` and `{port}` are filled in."""
    words: tuple[str, ...] = ()
    error: str = ""


AUTHORITY = ("--certificate-authority", "{authority}")
CASES = [
    Case(
        name="R01 TLS, without a scheme, not verified",
        tls=True,
        address="localhost:{port}",
        words=("--force-insecure",),
    ),
    Case(
        name="R02 TLS, with its scheme, not verified",
        tls=True,
        address="https://127.0.0.1:{port}",
        words=("--force-insecure",),
    ),
    Case(name="R03 TLS of this machine", tls=True, address="127.0.0.1:{port}"),
    Case(
        name="R04 plain, without a scheme, not verified",
        tls=False,
        address="127.0.0.1:{port}",
        words=("--force-insecure",),
    ),
    Case(name="R05 plain, with its scheme", tls=False, address="http://127.0.0.1:{port}"),
    Case(name="R06 plain of this machine", tls=False, address="127.0.0.1:{port}"),
    Case(name="R07 TLS with its authority", tls=True, address="127.0.0.1:{port}", words=AUTHORITY),
    Case(
        name="R08 TLS of an unknown authority",
        tls=True,
        address="https://127.0.0.1:{port}",
        error="certificate",
    ),
    Case(
        name="R09 plain where TLS is asked for",
        tls=False,
        address="https://127.0.0.1:{port}",
        error="wrong version number",
    ),
    Case(
        name="R09 plain where an authority is given",
        tls=False,
        address="127.0.0.1:{port}",
        words=AUTHORITY,
        error="wrong version number",
    ),
    Case(
        name="R09 an https address is not spoken to without TLS, verified or not",
        tls=False,
        address="https://127.0.0.1:{port}",
        words=("--force-insecure",),
        error="wrong version number",
    ),
]


def references(folder: Path) -> tuple[str, str]:
    """So that no cluster is needed."""
    file = folder / "references.json"
    file.write_text(
        json.dumps(
            {
                "version": "lading.prune.references/v1",
                "cluster": "test",
                "takenAt": datetime.now(UTC).isoformat(),
            }
        )
    )
    return "--references", str(file)


async def prune(folder: Path, address: str, *words: str) -> CommandResult:
    own = references(folder)
    return await command.lading("prune", "images", "--registry-url", address, *words, *own)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_case(case: Case, tmp_path: Path) -> None:
    authority = Authority()
    (tmp_path / "authority.pem").write_text(authority.pem)
    tls: ssl.SSLContext | None = None
    if case.tls:
        tls = authority.server_context(tmp_path, "127.0.0.1", "localhost")
    async with registry_server.serve(tmp_path / "r", tls=tls) as url:
        address = case.address.format(port=url.rpartition(":")[2])
        words = [one.format(authority=tmp_path / "authority.pem") for one in case.words]
        result = await prune(tmp_path, address, *words)
    if case.error:
        assert result.code == 1
        assert case.error in result.errors
    else:
        assert result.code == 0, result.errors
        assert result.output.endswith("Summary: deleted 0 objects\n")


@asynccontextmanager
async def answering(statuses: dict[str, int]) -> AsyncIterator[str]:
    async def answer(request: web.Request) -> web.Response:
        status = statuses.get(request.path, 404)
        return web.json_response({"repositories": []}, status=status)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    async with TestServer(app) as served:
        yield str(served.make_url("")).rstrip("/")


async def test_r10_only_the_api_counts_not_the_root_nor_healthz(tmp_path: Path) -> None:
    """oc asks / and /healthz; a registry without them is a registry all the same."""
    async with answering({"/v2/": 200, "/v2/_catalog": 200}) as url:
        assert (await prune(tmp_path, url)).code == 0


@pytest.mark.parametrize("status", [404, 503])
async def test_r11_a_registry_that_is_starting_is_an_error(tmp_path: Path, status: int) -> None:
    async with answering({"/": 200, "/healthz": 200, "/v2/": status}) as url:
        result = await prune(tmp_path, url)
    assert result.code == 1
    assert str(status) in result.errors


async def test_a_registry_that_does_not_answer_is_named(tmp_path: Path) -> None:
    result = await prune(tmp_path, "http://127.0.0.1:1")
    assert result.code == 1
    assert "127.0.0.1:1" in result.errors
    assert "--registry-url" in result.errors
