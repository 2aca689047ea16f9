"""Our registry and client beside real ones: one suite, one data folder, one copying tool."""

import asyncio
import pathlib
from dataclasses import replace

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.adapters.registry.client import RegistryClient
from lading.kernel import references
from lading.kernel.references import Reference
from lading.servers.registry import server
from lading.standalone import sample_images
from lading.standalone.sample_images import SampleImage
from tests.conformance.registry import targets
from tests.real import suites
from tests.real.bed import registry
from tests.real.setup import binaries

SUITE_SECONDS_MAX = 120
IMAGE = sample_images.index(
    [sample_images.image([{"a": b"x" * 30_000}, {"b": b"y"}]), sample_images.image([{"c": b"z"}])]
)


@pytest.mark.components("registry")
@pytest.mark.timeout(SUITE_SECONDS_MAX)
@pytest.mark.parametrize("version", registry.VERSIONS)
def test_the_suite_passes_but_for_the_known_differences(version: str) -> None:
    with registry.registry(version) as real:
        settings = {targets.VARIABLE: f"distribution-{version}={real.url}"}
        suites.check("registry", settings)


@pytest.mark.components("registry")
@pytest.mark.parametrize("version", registry.VERSIONS)
async def test_a_real_registry_and_ours_serve_the_same_folder(version: str) -> None:
    """Both at once, so that each sees what the other writes."""
    with registry.registry(version) as real:
        async with (
            server.serve(real.root) as url,
            registry_client.connect(SystemClock()) as client,
        ):
            ours = references.parse(f"{url.removeprefix('http://')}/team/app:v1")
            theirs = references.parse(f"{real.host}/team/app:v1")
            await sample_images.push(client, ours, IMAGE)
            await check_whole(client, theirs, IMAGE)
            other = sample_images.image([{"d": b"from the real one"}])
            await sample_images.push(client, replace(theirs, tag="v2"), other)
            await check_whole(client, replace(ours, tag="v2"), other)
            assert await client.tags(ours) == await client.tags(theirs) == ("v1", "v2")


@pytest.mark.components("registry")
@pytest.mark.parametrize("version", registry.VERSIONS)
async def test_the_garbage_collector_of_a_real_registry_keeps_what_ours_holds(
    version: str,
) -> None:
    with registry.registry(version) as real:
        async with (
            server.serve(real.root) as url,
            registry_client.connect(SystemClock()) as client,
        ):
            ours = references.parse(f"{url.removeprefix('http://')}/team/app:v1")
            await sample_images.push(client, ours, IMAGE)
            real.collect_garbage()
            await check_whole(client, ours, IMAGE)


@pytest.mark.components("registry")
async def test_skopeo_copies_from_and_to_ours(tmp_path: pathlib.Path) -> None:
    layout = f"oci:{tmp_path}/copied:v1"
    async with (
        server.serve(tmp_path / "registry") as url,
        registry_client.connect(SystemClock()) as client,
    ):
        host = url.removeprefix("http://")
        app = references.parse(f"{host}/team/app:v1")
        await sample_images.push(client, app, IMAGE)
        await skopeo_copy("--src-tls-verify=false", f"docker://{app}", layout)
        await skopeo_copy("--dest-tls-verify=false", layout, f"docker://{host}/copied/app:v1")
        await check_whole(client, replace(app, repository="copied/app"), IMAGE)


async def skopeo_copy(*arguments: str) -> None:
    skopeo = binaries.unpacked("skopeo", "usr/bin/skopeo")
    process = await asyncio.create_subprocess_exec(
        skopeo,
        *("--insecure-policy", "copy", "--all", "--quiet", *arguments),
        stderr=asyncio.subprocess.PIPE,
    )
    _, complaint = await process.communicate()
    assert process.returncode == 0, complaint.decode()


async def check_whole(client: RegistryClient, reference: Reference, image: SampleImage) -> None:
    """Every manifest and blob of the image comes back from there, byte for byte."""
    assert await client.manifest(reference) == image.manifest
    for descriptor, content in image.blobs:
        got = [piece async for piece in client.blob(reference, descriptor)]
        assert b"".join(got) == content
    for child in image.children:
        await check_whole(client, reference.at(child.digest), child)
