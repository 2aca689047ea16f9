"""The token of the cluster goes to the registry of that cluster, and to nothing else.

The commands run as a person or a CronJob runs them, with a token in the kubeconfig. The registries
ask for credentials, over HTTP and HTTPS, and keep what they receive.
"""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from lading.adapters.clock import SystemClock
from lading.adapters.kube.cluster import KubeCluster
from lading.adapters.registry import client as registry_client
from lading.adapters.registry.administration import AdministrationClient
from lading.adapters.registry.credentials import Table
from lading.embedded.registry import server as registry_server
from lading.embedded.registry.access import AccessGuard, Passwords, TokenGuard
from lading.kernel.objects import Resource
from lading.ports.registry import Credential
from lading.pruning.engine import registry_url
from lading.pruning.engine.inventory import observe_streams
from lading.pruning.operator import effective, objects
from lading.wiring.prune import OneRegistry, RegistryTrust
from tests.adapters.kube.certificates import Authority
from tests.adapters.registry.hostile import Hostile, Received, served
from tests.cli.prune import openshift
from tests.cli.prune.openshift import NO_GUARD, OpenShift
from tests.command import lading
from tests.loop import server as kube_server
from tests.pruning import image_streams
from tests.pruning.image_streams import CRDS, STREAMS, Streams
from tests.pruning.operator.pruner_worlds import pruner
from tests.pruning.worlds import Shelf
from tests.security import recording

TOKEN = "canary-cluster-token-4711"
EXPIRED = "canary-expired-login-4711"
INTEGRATED = "image-registry.openshift-image-registry.svc:5000"
CONFIGS: Resource[dict[str, Any]] = observe_streams.IMAGE_CONFIGS
WAYS = ("http", "http-forced", "https", "https-forced", "https-on-loopback")
"""How the registry is reached; only `https` has a certificate that is verified."""
CHALLENGES = ("basic", "realm-here", "realm-elsewhere")
PAIRS = (
    *((way, "basic") for way in WAYS),
    *((way, challenge) for way in ("http", "https") for challenge in CHALLENGES[1:]),
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of a person without logins."""
    for name in ("REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR", "DOCKER_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def log_in(home: Path, host: str, password: str = EXPIRED) -> None:
    pair = base64.b64encode(f"robot:{password}".encode()).decode()
    (home / ".docker").mkdir(exist_ok=True)
    (home / ".docker" / "config.json").write_text(json.dumps({"auths": {host: {"auth": pair}}}))


@dataclass(frozen=True, kw_only=True)
class Asking:
    """A registry that refuses every credential, and the server of its token realm."""

    registry: Hostile
    realm: Hostile
    arguments: tuple[str, ...]
    """How a command reaches it."""

    def got(self, secret: str) -> list[str]:
        return recording.got(secret, (self.registry, self.realm))


@asynccontextmanager
async def asking(folder: Path, *, way: str, challenge: str) -> AsyncIterator[Asking]:
    authority = Authority()
    file = folder / "ca.crt"
    file.write_text(authority.pem)
    is_tls = way.startswith("https")
    tls = authority.server_context(folder, "127.0.0.1") if is_tls else None
    scheme = "https" if is_tls else "http"
    async with served(recording.challenging("Basic"), tls) as realm:

        async def answering(request: Received, writer: asyncio.StreamWriter) -> None:
            await recording.challenging(wanted())(request, writer)

        def wanted() -> str:
            # Over TLS on another port, where the certificate of the registry is trusted as well.
            name = "127.0.0.1" if is_tls else "localhost"
            elsewhere = f"{name}:{realm.host.rpartition(':')[2]}"
            host = registry.host if challenge == "realm-here" else elsewhere
            return "Basic" if challenge == "basic" else f'Bearer realm="{scheme}://{host}/token"'

        async with served(answering, tls) as registry:
            options = {
                "http": ("--registry-url", f"http://{registry.host}"),
                "http-forced": ("--registry-url", registry.host, "--force-insecure"),
                "https": (
                    *("--registry-url", f"https://{registry.host}"),
                    *("--certificate-authority", str(file)),
                ),
                "https-forced": ("--registry-url", f"https://{registry.host}", "--force-insecure"),
                "https-on-loopback": ("--registry-url", registry.host),
            }
            yield Asking(registry=registry, realm=realm, arguments=options[way])


@asynccontextmanager
async def plain_cluster(folder: Path) -> AsyncIterator[Path]:
    """Without ImageStreams."""
    async with kube_server.serving(SystemClock()) as api, openshift.reachable(api) as url:
        yield write_kubeconfig(folder, url)


@asynccontextmanager
async def stream_cluster(folder: Path, *registries: str) -> AsyncIterator[Path]:
    """With a stream to prune; its image config names these hosts."""
    async with image_streams.opened() as streams, openshift.reachable(streams.api) as url:
        await configure(streams, *registries)
        yield write_kubeconfig(folder, url)


def write_kubeconfig(folder: Path, url: str) -> Path:
    file = folder / "kubeconfig"
    file.write_text(yaml.safe_dump(openshift.kubeconfig_of(url, token=TOKEN)))
    return file


async def configure(streams: Streams, *hosts: str) -> None:
    await streams.kube.create(CRDS, image_streams.definition(CONFIGS, status=False))
    status = {"internalRegistryHostname": INTEGRATED, "externalRegistryHostnames": list(hosts)}
    body = {
        "apiVersion": CONFIGS.api_version,
        "kind": CONFIGS.kind,
        "metadata": {"name": observe_streams.IMAGE_CONFIG},
        "status": status,
    }
    await streams.kube.create(CONFIGS, body)


async def prune(kubeconfig: Path, *words: str) -> str:
    """What a run prints that fails; everything that it finds may go."""
    where = ("--kubeconfig", str(kubeconfig), "--keep-younger-than", "0s")
    result = await lading("prune", "images", *where, "--keep-tag-revisions", "1", *words)
    assert result.code == 1, result.output + result.errors
    return result.output + result.errors


@pytest.mark.parametrize(("way", "challenge"), PAIRS)
async def test_a_plain_registry_gets_no_token_of_the_cluster(
    tmp_path: Path, home: Path, way: str, challenge: str
) -> None:
    async with (
        plain_cluster(tmp_path) as kubeconfig,
        asking(tmp_path, way=way, challenge=challenge) as asked,
    ):
        printed = await prune(kubeconfig, *asked.arguments)
        assert f"{asked.registry.host} accepts none of the credentials (401)" in printed
        assert "log in to it with `docker login`" in printed
        log_in(home, asked.registry.host)
        await prune(kubeconfig, *asked.arguments, "--confirm", *NO_GUARD)
        assert asked.got(EXPIRED), "the login is tried, and refused"
        assert asked.got(TOKEN) == []


@pytest.mark.parametrize(("way", "challenge"), PAIRS)
async def test_with_image_streams_the_token_stays_with_the_registry_of_the_image_config(
    tmp_path: Path, home: Path, way: str, challenge: str
) -> None:
    """Another registry gets it in no case, whatever the streams and the options name."""
    async with (
        stream_cluster(tmp_path, "route.example.com") as kubeconfig,
        asking(tmp_path, way=way, challenge=challenge) as asked,
    ):
        log_in(home, asked.registry.host)
        printed = await prune(kubeconfig, *asked.arguments, "--confirm", *NO_GUARD)
        assert "the token of the cluster is not sent: the image config of the cluster" in printed
        assert asked.got(EXPIRED)
        assert asked.got(TOKEN) == []


async def test_a_registry_that_only_streams_name_gets_no_token(tmp_path: Path) -> None:
    """Where a cluster has no registry, users write what the status of their streams names."""
    async with (
        asking(tmp_path, way="https", challenge="basic") as asked,
        image_streams.opened() as streams,
        openshift.reachable(streams.api) as url,
    ):
        stream = await streams.kube.get(STREAMS, "bar", namespace="images")
        stream["status"]["dockerImageRepository"] = f"{asked.registry.host}/images/bar"
        await KubeCluster(streams.kube, address="").replace_status(STREAMS, stream)
        authority = asked.arguments[2:]
        printed = await prune(write_kubeconfig(tmp_path, url), "--confirm", *authority, *NO_GUARD)
        assert f"the image config of the cluster does not name {asked.registry.host}" in printed
        assert asked.registry.received
        assert asked.got(TOKEN) == []


@pytest.mark.parametrize(
    ("way", "challenge", "reason"),
    [
        *((way, "basic", "not reached over TLS") for way in WAYS if way != "https"),
        ("https-forced", "realm-here", "not reached over TLS"),
        ("https", "realm-elsewhere", "names a token realm on another server"),
    ],
)
async def test_the_registry_of_the_cluster_gets_the_token_only_over_verified_tls_and_by_itself(
    tmp_path: Path, home: Path, way: str, challenge: str, reason: str
) -> None:
    async with (
        asking(tmp_path, way=way, challenge=challenge) as asked,
        stream_cluster(tmp_path, asked.registry.host) as kubeconfig,
    ):
        log_in(home, asked.registry.host)
        printed = await prune(kubeconfig, *asked.arguments, "--confirm", *NO_GUARD)
        assert "the token of the cluster is not sent" in printed
        assert reason in printed
        assert asked.got(EXPIRED)
        assert asked.got(TOKEN) == []


async def filled_storage(folder: Path) -> str:
    """The storage of a registry with one image."""
    root = folder / "storage"
    async with (
        registry_server.serve(root) as url,
        registry_client.connect(SystemClock()) as client,
    ):
        shelf = Shelf(AdministrationClient(client), url.partition("://")[2])
        await shelf.image("app:v1", layers=[b"layer"])
    return f"file://{root}"


@pytest.mark.parametrize("source", ["--source=registry", "--storage"])
async def test_the_registry_of_the_cluster_gets_no_token_as_a_plain_registry(
    tmp_path: Path, source: str
) -> None:
    storage = await filled_storage(tmp_path)
    chosen = f"--storage={storage}" if source == "--storage" else source
    async with (
        asking(tmp_path, way="https", challenge="basic") as asked,
        stream_cluster(tmp_path, asked.registry.host) as kubeconfig,
    ):
        await prune(kubeconfig, *asked.arguments, chosen, "--confirm", *NO_GUARD)
        assert asked.registry.received
        assert asked.got(TOKEN) == []


async def test_a_sweep_sends_no_token_of_the_cluster(tmp_path: Path) -> None:
    storage = await filled_storage(tmp_path)
    async with (
        asking(tmp_path, way="https", challenge="basic") as asked,
        stream_cluster(tmp_path, asked.registry.host) as kubeconfig,
    ):
        result = await lading(
            *("prune", "blobs", "--confirm", "--cluster-images", "--kubeconfig", str(kubeconfig)),
            *("--storage", storage, *asked.arguments),
        )
        assert "accepts none of the credentials (401)" in result.errors
        assert asked.registry.received
        assert asked.got(TOKEN) == []


@pytest.mark.parametrize("challenge", CHALLENGES)
async def test_the_address_in_an_image_pruner_gets_no_token_of_its_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, challenge: str
) -> None:
    """The arguments of the container are those that the operator writes."""
    async with (
        asking(tmp_path, way="http", challenge=challenge) as asked,
        stream_cluster(tmp_path, asked.registry.host) as kubeconfig,
    ):
        spec = {"registries": [{"name": "bait", "url": f"http://{asked.registry.host}"}]}
        job = objects.cron_job(
            pruner(spec),
            effective.effective(spec),
            namespace="lading",
            image="lading",
            prune_registry=True,
            reports_to_map=False,
        )
        pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
        (bait,) = [one for one in pod["containers"] if one["name"] == "registry-bait"]
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
        monkeypatch.setenv("POD_NAME", "pod")
        result = await lading(*bait["args"])
        assert result.code == 1, result.output + result.errors
        assert asked.registry.received
        assert asked.got(TOKEN) == []


@asynccontextmanager
async def integrated_registry(folder: Path, guard: AccessGuard) -> AsyncIterator[OpenShift]:
    """A cluster with its registry, which accepts the token of the cluster and nothing else."""
    authority = Authority()
    file = folder / "ca.crt"
    file.write_text(authority.pem)
    tls = authority.server_context(folder, "127.0.0.1")
    async with (
        image_streams.empty() as streams,
        openshift.reachable(streams.api) as api,
        registry_server.serve(folder / "registry", guard=guard, tls=tls) as url,
    ):
        host = url.partition("://")[2]
        await configure(streams, host)
        async with registry_client.connect(
            SystemClock(),
            routing=OneRegistry(registry_url.parse(url), RegistryTrust(file, insecure=False)),
            credentials=Table({host: Credential(username="lading", password=TOKEN)}),
        ) as client:
            shelf = Shelf(AdministrationClient(client), host)
            yield OpenShift(streams, shelf, write_kubeconfig(folder, api))


PASSWORDS = Passwords({"lading": TOKEN})


@pytest.mark.parametrize(
    "guard", [PASSWORDS, TokenGuard(passwords=PASSWORDS)], ids=["basic", "realm-here"]
)
@pytest.mark.parametrize("is_logged_in", [False, True])
async def test_the_registry_of_the_cluster_gets_the_token(
    tmp_path: Path, home: Path, guard: AccessGuard, is_logged_in: bool
) -> None:
    """Also after a login that has expired."""
    async with integrated_registry(tmp_path, guard) as cluster:
        if is_logged_in:
            log_in(home, cluster.shelf.host)
        old, new = await cluster.push("app", "1", "2")
        authority = ("--certificate-authority", str(tmp_path / "ca.crt"))
        result = await cluster.lading("images", "--confirm", *authority, *NO_GUARD)
        assert result.code == 0, result.errors
        assert not await cluster.shelf.pullable(f"images/app@{old.digest}")
        assert await cluster.shelf.pullable(f"images/app@{new.digest}")
