"""Passwords stay with their registry: what mirrors and redirect targets of real runtimes receive.

The servers record every request. Each pull is made as an agent makes it: the credential is looked
up by the runtime's own configuration of mirrors, and handed over with the pull.
"""

import asyncio
import base64
import contextlib
import os
import pathlib
import signal
import uuid
from collections.abc import AsyncIterator, Sequence

import pytest
import tomli_w

from lading.adapters.clock import SystemClock
from lading.adapters.cri.client import CriClient
from lading.adapters.registry import client as registry_client
from lading.adapters.registry import registries_conf
from lading.adapters.registry.credentials import Table
from lading.adapters.registry.endpoints import Routing
from lading.adapters.registry.hosts_toml import HostsFolders
from lading.embedded import sample_images
from lading.embedded.registry import server
from lading.embedded.registry.access import Passwords
from lading.kernel import references
from lading.kernel.values import replace
from lading.ports import cri, registry
from lading.ports.cri import ImageSpec
from lading.ports.registry import Credential
from lading.wire import calls
from lading.wiring.registries import ImageCredentials
from tests.adapters.registry.hostile import Answering, Hostile, Received, always, served, whole
from tests.real.bed import containerd, runtime, sandbox, waiting
from tests.real.bed import registry as bed_registry

PASSWORD = "canary-of-carol"
CAROL = Credential(username="carol", password=PASSWORD)
GUARD = Passwords({"carol": PASSWORD})
APPLIED = "Applied new registry configuration"

CONTAINERD = [
    pytest.param(name, marks=pytest.mark.components("containerd", "registry"))
    for name in ("containerd_2_3", "containerd_1_7", "containerd_1_6")
]
CRIO = [pytest.param("crio_1_36", marks=pytest.mark.components("cri-o", "registry"))]
TOKEN = 'Bearer realm="http://{realm}/token",service="s"'
CHALLENGES = pytest.mark.parametrize(
    "challenge", ['Basic realm="mirror"', TOKEN], ids=["basic", "token"]
)


@pytest.fixture
def running(request: pytest.FixtureRequest) -> runtime.Runtime:
    found: runtime.Runtime = request.getfixturevalue(request.param)
    return found


def asking_for_a_password(challenge: str) -> Answering:
    return always(whole(b"", f"WWW-Authenticate: {challenge}", status="401 Unauthorized"))


def received_the_password(*servers: Hostile) -> bool:
    """In a header, or in a form that asks for a token."""
    encoded = base64.b64encode(f"carol:{PASSWORD}".encode()).decode()
    received = [repr(request) for one in servers for request in one.received]
    return any(encoded in request or PASSWORD in request for request in received)


@contextlib.asynccontextmanager
async def private_image(folder: pathlib.Path) -> AsyncIterator[str]:
    """An image of a registry that wants Carol's password."""
    async with (
        server.serve(folder, guard=GUARD) as url,
        registry_client.connect(SystemClock()) as client,
    ):
        image = sample_images.image([{"name": uuid.uuid4().bytes}])
        reference = references.parse(f"{url.removeprefix('http://')}/team/app:v1")
        await sample_images.push(client.with_credential(CAROL), reference, image)
        yield str(reference)


def configured(running: runtime.Runtime, origin: str, mirrors: Sequence[str] = ()) -> Routing:
    """Plain HTTP for all of them, and these mirrors before the origin."""
    if running.kind == "cri-o":
        return _configured_crio(running, origin, mirrors)
    folder = running.conf_dir / origin
    folder.mkdir(parents=True)
    hosts = {f"http://{mirror}": {"capabilities": ["pull", "resolve"]} for mirror in mirrors}
    content = tomli_w.dumps({"server": f"http://{origin}", "host": hosts})
    (folder / "hosts.toml").write_text(content)
    return HostsFolders((running.conf_dir,), pytest.fail)


def _configured_crio(running: runtime.Runtime, origin: str, mirrors: Sequence[str]) -> Routing:
    main = running.host_root / "etc/containers/registries.conf"
    drop_ins = main.with_name("registries.conf.d")
    drop_ins.mkdir(exist_ok=True)
    entry = {
        "location": origin,
        "insecure": True,
        "mirror": [{"location": mirror, "insecure": True} for mirror in mirrors],
    }
    file = drop_ins / f"{origin.replace(':', '-')}.conf"
    file.write_text(tomli_w.dumps({"registry": [entry]}))
    log = running.sandbox_folder / "crio.log"
    before = log.read_text().count(APPLIED)
    os.kill(running.pid, signal.SIGHUP)
    waiting.until(lambda: log.read_text().count(APPLIED) > before, "CRI-O read its registries")
    return registries_conf.load(registries_conf.files_of(main), pytest.fail)


async def credential_for(image: str, routing: Routing) -> Credential:
    host = image.partition("/")[0]
    source = ImageCredentials(source=Table({host: CAROL}), routing=routing)
    found = await source.credential(image)
    assert found is not None
    return found


async def pull(running: runtime.Runtime, image: str, credential: Credential) -> str:
    async with calls.channel_to(running.endpoint) as channel:
        return await CriClient(channel).pull(ImageSpec(image=image), credential)


@pytest.mark.parametrize("running", [*CONTAINERD, *CRIO], indirect=True)
@CHALLENGES
async def test_a_mirror_that_asks_does_not_get_the_password_and_the_pull_succeeds(
    running: runtime.Runtime, challenge: str, tmp_path: pathlib.Path
) -> None:
    async with (
        private_image(tmp_path) as image,
        served(always(whole(b'{"token":"t"}'))) as realm,
        served(asking_for_a_password(challenge.format(realm=realm.host))) as mirror,
    ):
        routing = configured(running, image.partition("/")[0], [mirror.host])
        assert await pull(running, image, await credential_for(image, routing))
        assert mirror.received, "the mirror was not asked, so nothing is proven"
        assert not received_the_password(mirror, realm)


@pytest.mark.parametrize("running", CONTAINERD, indirect=True)
@CHALLENGES
async def test_without_a_server_address_containerd_shows_the_password_to_the_mirror(
    running: runtime.Runtime, challenge: str, tmp_path: pathlib.Path
) -> None:
    """Why the address is there; should a release do better, this says so."""
    async with (
        private_image(tmp_path) as image,
        served(always(whole(b'{"token":"t"}'))) as realm,
        served(asking_for_a_password(challenge.format(realm=realm.host))) as mirror,
    ):
        routing = configured(running, image.partition("/")[0], [mirror.host])
        limited = await credential_for(image, routing)
        await pull(running, image, replace(limited, server_address=""))
        assert received_the_password(mirror, realm)


@pytest.mark.parametrize("running", [*CONTAINERD, *CRIO], indirect=True)
async def test_the_target_of_a_redirect_gets_no_password_from_the_runtime_or_from_us(
    running: runtime.Runtime,
) -> None:
    async with (
        served(always(whole(b'{"token":"t"}'))) as realm,
        served(asking_for_a_password(TOKEN.format(realm=realm.host))) as target,
    ):
        # Go's client takes two ports of one host for the same party.
        other_host = target.host.replace("127.0.0.1", "localhost")

        async def redirecting(request: Received, writer: asyncio.StreamWriter) -> None:
            if "authorization" not in request.headers:
                basic = 'WWW-Authenticate: Basic realm="x"'
                writer.write(whole(b"", basic, status="401 Unauthorized"))
            elif request.path.rstrip("/") == "/v2":
                writer.write(whole(b"{}"))
            else:
                location = f"Location: http://{other_host}{request.path}"
                writer.write(whole(b"", location, status="307 Temporary Redirect"))

        async with served(redirecting) as origin:
            image = f"{origin.host}/team/app:v1"
            routing = configured(running, origin.host)
            credential = await credential_for(image, routing)
            with pytest.raises(cri.CriError):
                await pull(running, image, credential)
            async with registry_client.connect(
                SystemClock(), routing=routing, credentials=Table({origin.host: CAROL})
            ) as client:
                with pytest.raises(registry.Unauthorized, match="not sent to other hosts"):
                    await client.manifest(references.parse(image))
        assert received_the_password(origin)
        assert target.received, "nothing was redirected, so nothing is proven"
        assert not received_the_password(target, realm)


@pytest.mark.parametrize("running", [*CONTAINERD, *CRIO], indirect=True)
async def test_a_server_address_with_scheme_and_port_opens_the_registry(
    running: runtime.Runtime, tmp_path: pathlib.Path
) -> None:
    async with private_image(tmp_path) as image:
        routing = configured(running, image.partition("/")[0])
        credential = await credential_for(image, routing)
        assert credential.server_address.partition("://")[2] == image.partition("/")[0]
        assert await pull(running, image, credential)


@pytest.mark.parametrize("running", CONTAINERD, indirect=True)
async def test_a_server_address_without_a_scheme_fails_the_pull(
    running: runtime.Runtime, tmp_path: pathlib.Path
) -> None:
    """containerd reads it as a URL: `host:port` alone is none."""
    async with private_image(tmp_path) as image:
        routing = configured(running, image.partition("/")[0])
        credential = await credential_for(image, routing)
        bare = replace(credential, server_address=image.partition("/")[0])
        with pytest.raises(cri.CriError, match="parse server address"):
            await pull(running, image, bare)


@pytest.mark.parametrize("running", [CONTAINERD[0], *CRIO], indirect=True)
async def test_a_403_without_words_of_the_protocol_is_a_refusal(
    running: runtime.Runtime,
) -> None:
    """As a proxy answers; then the next credential is tried."""

    async def refusing(request: Received, writer: asyncio.StreamWriter) -> None:
        basic = 'WWW-Authenticate: Basic realm="x"'
        is_known = "authorization" in request.headers
        status = "403 Forbidden" if is_known else "401 Unauthorized"
        writer.write(whole(b"<html>go away</html>", basic, status=status))

    async with served(refusing) as origin:
        image = f"{origin.host}/team/app:v1"
        credential = await credential_for(image, configured(running, origin.host))
        with pytest.raises(cri.Unauthorized):
            await pull(running, image, credential)
        assert received_the_password(origin)


DOCKER_HUB_ADDRESS = "127.80.36.12"
"""Of this machine, and of no other test."""


@pytest.mark.components("containerd", "registry")
@pytest.mark.parametrize("release", containerd.VERSIONS)
async def test_the_password_of_docker_hub_goes_to_the_name_that_containerd_asks(
    release: str, registry_3_1: bed_registry.Registry
) -> None:
    """Images are named after docker.io, requests go to registry-1.docker.io."""
    basic = asking_for_a_password('Basic realm="x"')
    with sandbox.sandbox() as place:
        running = containerd.start(place, release, registries=[registry_3_1])
        names = place.folder / "hosts"
        names.write_text(f"127.0.0.1 localhost\n{DOCKER_HUB_ADDRESS} registry-1.docker.io\n")
        place.run("mount", "--bind", names, "/etc/hosts")
        async with (
            served(basic) as mirror,
            served(basic, address=DOCKER_HUB_ADDRESS, port=80) as hub,
        ):
            configure_docker_hub(running, mirror.host)
            routing = HostsFolders((running.conf_dir,), pytest.fail)
            image = "docker.io/library/app:v1"
            credential = await credential_for(image, routing)
            with pytest.raises(cri.CriError):
                await pull(running, image, credential)
        assert received_the_password(hub)
        assert mirror.received, "the mirror was not asked, so nothing is proven"
        assert not received_the_password(mirror)


def configure_docker_hub(running: runtime.Runtime, mirror: str) -> None:
    folder = running.conf_dir / "docker.io"
    folder.mkdir()
    capabilities = {"capabilities": ["pull", "resolve"]}
    content = {"server": "http://registry-1.docker.io", "host": {f"http://{mirror}": capabilities}}
    (folder / "hosts.toml").write_text(tomli_w.dumps(content))
