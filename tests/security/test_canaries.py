"""Secrets of known text go through a whole cluster, and no one can read them anywhere.

Credentials of every kind are used by two nodes, the controllers and the commands, at the log level
debug, for pulls that succeed and pulls that fail with an answer that repeats the secret. Then
logs, objects, Events, metrics, printed output, plan files, arguments of processes and files that
others may read are searched. Without redaction the same run shows each secret.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.api.core import SECRETS
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.embedded import cluster, sample_images, sample_sets
from lading.embedded.cluster import ClusterOptions, StandaloneCluster
from lading.embedded.node import NodeDescription
from lading.kernel import references, texts
from lading.kernel.backoff import Backoff
from lading.pinned_images.node.types import PinSettings
from lading.ports.registry import Credential
from tests.command import lading
from tests.e2e import waiting
from tests.security import places, planted
from tests.security.places import Run
from tests.security.planted import Seen, leaks

NODE_STATUSES = "machineconfignodes.machineconfiguration.openshift.io"
HELPER = """#!{python}
import json, pathlib, sys
arguments = pathlib.Path("/proc/self/cmdline").read_text().replace("\\0", " ")
pathlib.Path({log!r}).open("a").write(arguments + "\\n")
sys.stdin.read()
print(json.dumps({{"ServerURL": "x", "Username": {user!r}, "Secret": {secret!r}}}))
"""
POLICY = {"policies": [{"repositories": ["**"], "keepTags": [{"patterns": ["keep"]}]}]}


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


async def push_images(host: str) -> dict[str, str]:
    """By the name of the set that wants them; only the first can be pulled. One is not wanted."""
    await push(host, "unused/app")
    nothing = f"app@sha256:{'0' * 64}"
    return {
        "private": await push(host, "private/app"),
        "storage-refuses": await push(host, f"{planted.STORAGE_REFUSES}/app"),
        "registry-refuses": f"{host}/{planted.REGISTRY_REFUSES}/{nothing}",
        "tokens-refused": f"{host}/{planted.TOKENS_REFUSED}/{nothing}",
        "proxied": f"registry.example/{nothing}",
    }


@asynccontextmanager
async def running(data: Path, nodes: int) -> AsyncIterator[StandaloneCluster]:
    options = ClusterOptions(
        data=data,
        nodes=tuple(NodeDescription(name=f"node-{number}") for number in range(nodes)),
        settings=PinSettings(
            resync_period=timedelta(seconds=1),
            status_interval_min=timedelta(milliseconds=200),
            # A proxy that refuses is reported after several attempts.
            pull_retry=Backoff(seconds_min=1, seconds_max=1),
        ),
    )
    async with cluster.open_cluster(options, SystemClock()) as made:
        work = asyncio.create_task(made.run())
        try:
            yield made
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)


async def has_settled(made: StandaloneCluster, images: Mapping[str, str], seen: Seen) -> bool:
    """Every secret was used; the nodes pinned what can be pulled and reported what cannot."""
    nodes = [one async for one in made.kube.each(MACHINE_CONFIG_NODES)]
    entries = [{entry.name: entry for entry in one.status.pinned_image_sets} for one in nodes]
    return (
        seen.everything()
        and len(entries) == len(made.nodes)
        and all(
            one.keys() == images.keys()
            and one["private"].current_generation == 1
            and all(one[name].last_failed_generation_errors for name in images.keys() - {"private"})
            for one in entries
        )
    )


async def create(made: StandaloneCluster, host: str, sets: list[dict[str, Any]]) -> None:
    auths = {"auths": {host: {"username": planted.USER, "password": planted.PASSWORD}}}
    secret = {
        "metadata": {"name": "canary", "namespace": "default"},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": json.dumps(auths)},
    }
    await made.kube.create(SECRETS, secret, namespace="default")
    for one in sets:
        await made.kube.create(PINNED_IMAGE_SETS, one)


async def printed(made: StandaloneCluster, run: Run, sets: Path, host: str) -> str:
    """What the commands print; they leave a plan, references and state in the folder."""
    policy = run.folder / "policy.yaml"
    policy.write_text(json.dumps(POLICY))
    where = ("--kubeconfig", str(made.api.kubeconfig))
    pruning = (
        *("--registry-url", f"http://{host}", "--state-dir", str(run.folder)),
        *("--policy", str(policy), "--keep-younger-than", "0s", "--age-from", "created"),
    )
    guards = ("--max-delete-percent", "100", "--ignore-guard", "no-references")
    commands = [
        ("pin", "plan", "-f", str(sets), "--pull-secret", "default/canary"),
        ("pin", "plan", "-f", str(sets), "-o", "json"),
        ("pin", "status"),
        ("pin", "status", "-o", "yaml"),
        ("get", "machineconfignodes", "-o", "yaml"),
        ("get", "events"),
        ("prune", "references", "-o", str(run.folder / "references.json")),
        ("prune", "plan", "-o", str(run.folder / "plan.jsonl"), *pruning),
        ("prune", "images", "--confirm", *pruning, *guards),
    ]
    output = [await lading(*words, *where) for words in commands]
    return "\n".join(one.output + one.errors for one in output)


async def texts_of(
    run: Run, monkeypatch: pytest.MonkeyPatch, *, nodes: int, with_commands: bool
) -> dict[str, str]:
    """Everything that a whole run leaves to read, by place."""
    seen = Seen()
    async with (
        planted.proxy(seen) as proxy_url,
        planted.registry(run.folder / "registry", seen) as host,
    ):
        for variable in ("HTTPS_PROXY", "HTTP_PROXY"):
            monkeypatch.setenv(variable, proxy_url)
        arguments = write_credentials(run.folder / "home", monkeypatch, host)
        images = await push_images(host)
        sets = [sample_sets.set_of(name, [image]) for name, image in images.items()]
        file = run.folder / "sets.yaml"
        file.write_text("\n---\n".join(json.dumps(one) for one in sets))
        async with running(run.data, nodes) as made:
            await create(made, host, sets)
            await waiting.until(lambda: has_settled(made, images, seen), "all sets are reported")
            output = await printed(made, run, file, host) if with_commands else ""
            shown = run.shown_metrics()
    objects = places.stored_objects(run.data)
    assert leaks(objects.pop("secrets")), "the pull secret itself is stored, so it would be found"
    return {
        "metrics": shown,
        "printed": output,
        "logs": run.debug_logs.getvalue(),
        "arguments": arguments.read_text() + "\n".join(places.arguments),
        **objects,
        **places.open_files(run.folder, without=run.folder / "registry"),
    }


async def test_no_secret_can_be_read_anywhere(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    found = await texts_of(run, monkeypatch, nodes=2, with_commands=True)
    assert {place: leaks(text) for place, text in found.items() if leaks(text)} == {}
    assert len(run.metrics) == 3
    assert "lading_pinned_images_pulls_total" in found["metrics"]
    assert {"events", NODE_STATUSES, "plan.jsonl", "references.json"} <= found.keys()
    assert "unused/app" in found["plan.jsonl"]
    assert found["logs"].count("\n") > 20
    assert found["arguments"].count("docker-credential-canary") >= 2


@pytest.mark.soak
async def test_without_redaction_each_secret_is_found(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the run above gives every secret to those who would show it."""
    monkeypatch.setattr(texts, "redacted", lambda text: text)
    found = await texts_of(run, monkeypatch, nodes=1, with_commands=False)
    assert leaks(found["logs"]) == set(planted.SECRETS)
    assert leaks(found[NODE_STATUSES]) == set(planted.SECRETS)
    assert leaks(found["events"])
