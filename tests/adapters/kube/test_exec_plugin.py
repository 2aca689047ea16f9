"""Credential plugins, as real commands: when they run, what they get, how they fail."""

import asyncio
import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from lading.adapters.kube import errors
from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.connection import Connection, ExecPlugin, Trust, User
from lading.adapters.kube.transport import NetworkTransport
from lading.ports import kube
from tests.adapters.kube import stand
from tests.adapters.kube.certificates import Authority
from tests.adapters.kube.stand import CONFIG_MAPS, HurryingClock

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"


class Script:
    """A plugin that prints what the test wrote into a file, and counts how often it ran."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "plugin"
        self.output = folder / "output"
        self.runs = folder / "runs"
        self.path.write_text(
            f"#!{sys.executable}\n"
            "import os, pathlib, sys\n"
            f"with open({str(self.runs)!r}, 'a') as runs:\n"
            "    runs.write(os.environ['KUBERNETES_EXEC_INFO'] + '\\n')\n"
            f"print(pathlib.Path({str(self.output)!r}).read_text())\n"
        )
        self.path.chmod(self.path.stat().st_mode | stat.S_IXUSR)

    def prints(self, *, api_version: str = V1, **status: str) -> None:
        document = {"apiVersion": api_version, "kind": "ExecCredential", "status": status}
        written = self.output.with_suffix(".new")
        written.write_text(json.dumps(document))
        written.rename(self.output)

    def inputs(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.runs.read_text().splitlines()]

    def plugin(self, **changes: Any) -> ExecPlugin:
        settings = {"api_version": V1, "command": str(self.path), "interactive_mode": "Never"}
        return ExecPlugin(where="config: users[me].user.exec", **{**settings, **changes})


@pytest.fixture
def script(tmp_path: Path) -> Script:
    return Script(tmp_path)


async def get_times(
    count: int, url: str, plugin: ExecPlugin, clock: HurryingClock, trust: Trust | None = None
) -> str:
    connection = Connection(server=url, user=User(exec_plugin=plugin), trust=trust or Trust())
    name = ""
    async with NetworkTransport(connection, clock) as network:
        for _ in range(count):
            found = await KubeClient(network).get(CONFIG_MAPS, "one", namespace="default")
            name = found.metadata.name
            clock.advance(10)
    return name


@pytest.mark.parametrize("api_version", [V1, V1BETA1])
async def test_a_plugin_is_asked_once_while_its_token_lasts(
    script: Script, api_version: str
) -> None:
    script.prints(api_version=api_version, token="t-1")
    plugin = script.plugin(api_version=api_version, cluster={"server": "https://x", "config": {}})
    async with stand.running(stand.config_map()) as server:
        await get_times(3, server.url, plugin, HurryingClock())
        assert server.authorizations() == ["Bearer t-1"] * 3
    spec = {"interactive": False, "cluster": {"server": "https://x", "config": {}}}
    assert script.inputs() == [{"apiVersion": api_version, "kind": "ExecCredential", "spec": spec}]


async def test_a_plugin_is_asked_again_when_its_token_has_expired(script: Script) -> None:
    script.prints(token="t", expirationTimestamp="2026-01-01T00:00:15Z")
    async with stand.running(stand.config_map()) as server:
        await get_times(3, server.url, script.plugin(), HurryingClock())
    assert len(script.inputs()) == 2


async def test_a_plugin_is_asked_again_when_its_token_was_refused(script: Script) -> None:
    async def refuse(_request: web.BaseRequest) -> web.Response:
        script.prints(token="fresh")
        return web.Response(status=401)

    script.prints(token="stale")
    async with stand.running(refuse, stand.config_map()) as server:
        await get_times(1, server.url, script.plugin(), HurryingClock())
        assert server.authorizations() == ["Bearer stale", "Bearer fresh"]


async def test_many_refused_requests_ask_the_plugin_once(script: Script) -> None:
    async def refuse_the_stale(request: web.BaseRequest) -> web.Response:
        if request.headers["authorization"] == "Bearer stale":
            script.prints(token="fresh")
            return web.Response(status=401)
        return web.json_response({"metadata": {"name": "one"}})

    script.prints(token="stale")
    async with stand.running(refuse_the_stale) as server:
        connection = Connection(server=server.url, user=User(exec_plugin=script.plugin()))
        async with NetworkTransport(connection, HurryingClock()) as network:
            client = KubeClient(network)
            gets = (client.get(CONFIG_MAPS, "one", namespace="default") for _ in range(10))
            assert len(await asyncio.gather(*gets)) == 10
    assert len(script.inputs()) == 2


async def test_a_plugin_may_give_a_certificate(script: Script, tmp_path: Path) -> None:
    authority = Authority()
    issued = authority.issue("from-plugin")
    script.prints(clientCertificateData=issued.certificate_pem, clientKeyData=issued.key_pem)
    context = authority.server_context(tmp_path, "127.0.0.1")
    async with stand.running(stand.name_of_the_client, tls=context) as server:
        trust = Trust(authority_pem=authority.pem)
        name = await get_times(1, server.url, script.plugin(), HurryingClock(), trust)
    assert name == "from-plugin"


def credential(status: str) -> str:
    return f'{{"kind":"ExecCredential","apiVersion":"{V1}","status":{status}}}'


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ("not json", "printed no ExecCredential"),
        ('{"kind":"ExecCredential","apiVersion":"v2"}', "expected 'ExecCredential' of"),
        (f'{{"kind":"ExecCredential","apiVersion":"{V1}"}}', "neither token nor"),
        (credential('{"clientCertificateData":"x"}'), "must come together"),
        (
            credential('{"token":"hidden-token","expirationTimestamp":"soon"}'),
            "not a time of RFC 3339",
        ),
    ],
)
async def test_a_plugin_that_prints_nonsense_is_named_and_its_output_is_not_shown(
    script: Script, output: str, problem: str
) -> None:
    script.output.write_text(output)
    with pytest.raises(errors.CredentialsFailed, match=problem) as caught:
        await get_times(1, "http://127.0.0.1:1", script.plugin(), HurryingClock())
    assert str(caught.value).startswith("config: users[me].user.exec: the credential plugin")
    assert "hidden-token" not in str(caught.value)


async def test_a_plugin_that_is_not_installed_comes_with_its_hint() -> None:
    plugin = ExecPlugin(
        where="config", api_version=V1, command="no-such-plugin", install_hint="apt install it"
    )
    with pytest.raises(kube.Transient, match="cannot be started: No such file") as caught:
        await get_times(1, "http://127.0.0.1:1", plugin, HurryingClock())
    assert str(caught.value).endswith("\napt install it")


async def test_a_plugin_that_fails_is_quoted() -> None:
    code = "import sys; sys.exit('log in first')"
    plugin = ExecPlugin(
        where="config", api_version=V1, command=sys.executable, arguments=("-c", code)
    )
    with pytest.raises(errors.CredentialsFailed, match="ended with exit code 1: 'log in first'"):
        await get_times(1, "http://127.0.0.1:1", plugin, HurryingClock())


async def test_a_plugin_that_needs_a_terminal_says_so(script: Script) -> None:
    plugin = script.plugin(interactive_mode="Always")
    with pytest.raises(errors.CredentialsFailed, match="needs a terminal"):
        await get_times(1, "http://127.0.0.1:1", plugin, HurryingClock())
