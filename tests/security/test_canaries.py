"""Secrets of known text go through a whole cluster, and no one can read them anywhere.

Credentials of every kind are used by two nodes, the controllers and the commands, at the log level
debug, for pulls that succeed and pulls that fail. Then logs, objects, Events, metrics, printed
output, arguments of processes and files that others may read are searched for them.
"""

import asyncio
import contextlib
import io
import json
import os
import sqlite3
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import prometheus_client
import pytest
from prometheus_client import CollectorRegistry

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.api.core import SECRETS
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.kernel import references
from lading.observability import logs
from lading.pinned_images.node.types import PinSettings
from lading.ports.registry import Credential
from lading.standalone import cluster, sample_images, sample_sets
from lading.standalone.cluster import ClusterOptions, StandaloneCluster
from lading.standalone.node import NodeDescription
from tests.command import lading
from tests.e2e import waiting
from tests.security import planted
from tests.security.planted import Seen

NODES = ("node-1", "node-2")
HELPER = """#!{python}
import json, pathlib, sys
pathlib.Path({log!r}).open("a").write(" ".join(sys.argv) + "\\n")
sys.stdin.read()
print(json.dumps({{"ServerURL": "x", "Username": {user!r}, "Secret": {secret!r}}}))
"""


@pytest.fixture
def debug_logs() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    logs.configure(logs.LogFormat.JSON, "debug", stream=stream)
    yield stream
    logs.configure(logs.LogFormat.CONSOLE, "warning")


def write_credentials(folder: Path, monkeypatch: pytest.MonkeyPatch, registry_host: str) -> Path:
    """A credential helper in an auth file; gives where the helper notes its arguments."""
    folder.mkdir(mode=0o700)
    arguments = folder / "arguments"
    helper = folder / "docker-credential-canary"
    helper.write_text(
        HELPER.format(
            python=sys.executable,
            log=str(arguments),
            user=planted.USER,
            secret=planted.PASSWORD,
        )
    )
    helper.chmod(0o700)
    auth_file = folder / "auth.json"
    auth_file.write_text(json.dumps({"credHelpers": {registry_host: "canary"}}))
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("REGISTRY_AUTH_FILE", str(auth_file))
    return arguments


async def push(host: str, name: str) -> str:
    credential = Credential(username=planted.USER, password=planted.PASSWORD)
    made = sample_images.image([{"file": sample_images.noise(name, 10_000)}])
    async with registry_client.connect(SystemClock()) as client:
        tagged = references.parse(f"{host}/{name}:v1")
        return str(await sample_images.push(client.with_credential(credential), tagged, made))


@asynccontextmanager
async def running(data: Path) -> AsyncIterator[StandaloneCluster]:
    options = ClusterOptions(
        data=data,
        nodes=tuple(NodeDescription(name=name) for name in NODES),
        settings=PinSettings(
            resync_period=timedelta(seconds=1), status_interval_min=timedelta(milliseconds=200)
        ),
    )
    async with cluster.open_cluster(options, SystemClock()) as made:
        work = asyncio.create_task(made.run())
        try:
            yield made
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)


async def has_settled(made: StandaloneCluster, seen: Seen) -> bool:
    """Every secret was used; the nodes pinned what can be pulled and reported what cannot."""
    nodes = [one async for one in made.kube.each(MACHINE_CONFIG_NODES)]
    entries = [{entry.name: entry for entry in one.status.pinned_image_sets} for one in nodes]
    return (
        seen.everything()
        and len(entries) == len(NODES)
        and all(
            one.keys() >= {"private", "refused", "proxied"}
            and one["private"].current_generation == 1
            and one["refused"].last_failed_generation_errors
            and one["proxied"].last_failed_generation_errors
            for one in entries
        )
    )


def stored_objects(data: Path) -> dict[str, str]:
    """Every revision of every object but the Secrets, as text, by resource."""
    found: dict[str, str] = {}
    with contextlib.closing(sqlite3.connect(data / "api.sqlite")) as database:
        for resource, body in database.execute("SELECT resource, body FROM changes"):
            found[resource] = found.get(resource, "") + body.decode()
    assert leaks(found.pop("secrets")), "the pull secret itself is stored, so it would be found"
    return found


@pytest.fixture
def metrics(monkeypatch: pytest.MonkeyPatch) -> list[CollectorRegistry]:
    """Those of the controllers and of every node, once the cluster is open."""
    made: list[CollectorRegistry] = []

    def registry() -> CollectorRegistry:
        made.append(CollectorRegistry())
        return made[-1]

    monkeypatch.setattr(cluster, "CollectorRegistry", registry)
    return made


async def printed(made: StandaloneCluster, sets: Path) -> str:
    where = ("--kubeconfig", str(made.api.kubeconfig))
    commands = [
        ("pin", "plan", "-f", str(sets), "--pull-secret", "default/canary"),
        ("pin", "plan", "-f", str(sets), "-o", "json"),
        ("pin", "status"),
        ("pin", "status", "-o", "yaml"),
        ("get", "machineconfignodes", "-o", "yaml"),
        ("get", "events"),
    ]
    output = [await lading(*words, *where) for words in commands]
    return "\n".join(one.output + one.errors for one in output)


def readable_by_others(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.stat().st_mode & 0o077:
            yield path


def leaks(text: str) -> list[str]:
    return [form for form in planted.FORMS if form in text]


async def test_no_secret_can_be_read_anywhere(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    debug_logs: io.StringIO,
    metrics: list[CollectorRegistry],
) -> None:
    seen, data = Seen(), tmp_path / "data"
    async with planted.proxy(seen) as proxy_url, planted.registry(tmp_path / "r", seen) as host:
        for variable in ("HTTPS_PROXY", "HTTP_PROXY"):
            monkeypatch.setenv(variable, proxy_url)
        arguments = write_credentials(tmp_path / "home", monkeypatch, host)
        images = {
            "private": await push(host, "private/app"),
            "refused": await push(host, f"{planted.REFUSED}/app"),
            "proxied": f"registry.example/app@sha256:{'0' * 64}",
        }
        sets = [sample_sets.set_of(name, [image]) for name, image in images.items()]
        file = tmp_path / "sets.yaml"
        file.write_text("\n---\n".join(json.dumps(one) for one in sets))
        async with running(data) as made:
            auths = {"auths": {host: {"username": planted.USER, "password": planted.PASSWORD}}}
            secret = {
                "metadata": {"name": "canary", "namespace": "default"},
                "type": "kubernetes.io/dockerconfigjson",
                "stringData": {".dockerconfigjson": json.dumps(auths)},
            }
            await made.kube.create(SECRETS, secret, namespace="default")
            for one in sets:
                await made.kube.create(PINNED_IMAGE_SETS, one)
            await waiting.until(lambda: has_settled(made, seen), "every node reported all sets")
            output = await printed(made, file)
            assert len(metrics) == 1 + len(NODES)
            shown = [prometheus_client.generate_latest(one).decode() for one in metrics]
    assert "lading_pinned_images_pulls_total" in "".join(shown)
    assert leaks("".join(shown)) == []
    assert leaks(output) == []
    stored = stored_objects(data)
    assert {"events", "machineconfignodes.machineconfiguration.openshift.io"} <= stored.keys()
    assert {name: leaks(text) for name, text in stored.items() if leaks(text)} == {}
    assert leaks(debug_logs.getvalue()) == []
    assert debug_logs.getvalue().count("\n") > 20
    assert "get" in arguments.read_text()
    assert leaks(arguments.read_text()) == []
    for path in readable_by_others(data):
        assert leaks(path.read_bytes().decode(errors="replace")) == [], path
