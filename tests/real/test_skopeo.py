"""skopeo, unmodified, with the embedded registry: what people copy, convert, mirror and delete."""

import dataclasses
import json
import pathlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.adapters.registry.client import RegistryClient
from lading.embedded import sample_images
from lading.embedded.registry import server
from lading.embedded.registry.access import AccessGuard, Passwords, TokenGuard
from lading.kernel import manifests, platforms, references
from lading.kernel.references import Reference
from tests.real import skopeo, whole_images

pytestmark = pytest.mark.components("registry")

AMD64 = sample_images.image([{"a": b"x" * 30_000}, {"b": b"y"}])
ARM64 = sample_images.image([{"c": b"z"}], platform=platforms.parse("linux/arm64"))
IMAGE = sample_images.index([AMD64, ARM64])
OPEN = ("--src-tls-verify=false", "--dest-tls-verify=false")
ZSTANDARD_LAYER = "application/vnd.oci.image.layer.v1.tar+zstd"
PASSWORDS = Passwords({"carol": "right"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A registry that holds team/app with the tags v1 and v2, and a client to check it with."""

    host: str
    client: RegistryClient

    def at(self, repository: str) -> str:
        return f"docker://{self.host}/{repository}"

    def named(self, repository: str, tag: str = "v1") -> Reference:
        return references.parse(f"{self.host}/{repository}:{tag}")

    async def raw(self, repository: str) -> dict[str, Any]:
        """The manifest behind v1, as skopeo reads it."""
        output = await skopeo.run(
            "inspect", "--raw", "--tls-verify=false", self.at(f"{repository}:v1")
        )
        document: dict[str, Any] = json.loads(output)
        return document


@pytest.fixture
async def bench(tmp_path: pathlib.Path) -> AsyncIterator[Bench]:
    async with (
        server.serve(tmp_path / "registry") as url,
        registry_client.connect(SystemClock()) as client,
    ):
        opened = Bench(host=url.removeprefix("http://"), client=client)
        for tag in ("v1", "v2"):
            await sample_images.push(client, opened.named("team/app", tag), IMAGE)
        yield opened


async def copy(*arguments: str) -> None:
    await skopeo.run("copy", "--quiet", *OPEN, *arguments)


@pytest.mark.parametrize("place", ["oci:{}:v1", "dir:{}", "docker://{}"])
async def test_an_index_goes_out_and_comes_back_byte_for_byte(
    bench: Bench, place: str, tmp_path: pathlib.Path
) -> None:
    here = f"{bench.host}/between/app:v1" if place.startswith("docker") else tmp_path / "place"
    between = place.format(here)
    await copy("--all", bench.at("team/app:v1"), between)
    await copy("--all", between, bench.at("back/app:v1"))
    await whole_images.check(bench.client, bench.named("back/app"), IMAGE)


@pytest.mark.parametrize("archive", ["oci-archive:{}:v1", "docker-archive:{}:team/app:v1"])
async def test_an_image_goes_through_an_archive(
    bench: Bench, archive: str, tmp_path: pathlib.Path
) -> None:
    file = archive.format(tmp_path / "archive.tar")
    await copy(bench.at(f"team/app@{AMD64.digest}"), file)
    await copy(file, bench.at("unpacked/app:v1"))
    assert (await bench.raw("unpacked/app"))["config"]["digest"] == str(AMD64.blobs[0][0].digest)


async def test_an_index_becomes_one_of_docker_and_of_oci_again(bench: Bench) -> None:
    await copy("--all", "--format=v2s2", bench.at("team/app:v1"), bench.at("docker/app:v1"))
    listed = await bench.raw("docker/app")
    assert listed["mediaType"] == manifests.DOCKER_LIST
    assert {entry["mediaType"] for entry in listed["manifests"]} == {manifests.DOCKER_MANIFEST}
    await copy("--all", "--format=oci", bench.at("docker/app:v1"), bench.at("again/app:v1"))
    again = await bench.raw("again/app")
    assert again["mediaType"] == manifests.OCI_INDEX
    assert {entry["mediaType"] for entry in again["manifests"]} == {manifests.OCI_MANIFEST}


async def test_layers_can_be_of_zstandard(bench: Bench, tmp_path: pathlib.Path) -> None:
    compressed = f"dir:{tmp_path}/compressed"
    zstandard = ("--format=oci", "--dest-compress", "--dest-compress-format=zstd")
    await copy(*zstandard, bench.at(f"team/app@{AMD64.digest}"), compressed)
    await copy(compressed, bench.at("small/app:v1"))
    layers = (await bench.raw("small/app"))["layers"]
    assert {layer["mediaType"] for layer in layers} == {ZSTANDARD_LAYER}
    plain = tmp_path / "plain"
    await copy("--dest-decompress", bench.at("small/app:v1"), f"dir:{plain}")
    config = json.loads(AMD64.blobs[0][1])
    for digest in config["rootfs"]["diff_ids"]:
        assert (plain / digest.removeprefix("sha256:")).is_file()


async def test_a_repository_is_mirrored_with_all_its_tags(
    bench: Bench, tmp_path: pathlib.Path
) -> None:
    folder = str(tmp_path / "carried")
    sync = ("sync", "--all", *OPEN)
    await skopeo.run(*sync, "--src=docker", "--dest=dir", f"{bench.host}/team/app", folder)
    await skopeo.run(*sync, "--src=dir", "--dest=docker", folder, f"{bench.host}/mirror")
    for tag in ("v1", "v2"):
        await whole_images.check(bench.client, bench.named("mirror/app", tag), IMAGE)


async def test_an_image_is_described_with_its_digest_and_the_tags_beside_it(bench: Bench) -> None:
    output = json.loads(await skopeo.run("inspect", "--tls-verify=false", bench.at("team/app:v1")))
    assert output["Digest"] == str(IMAGE.digest)
    assert output["RepoTags"] == ["v1", "v2"]


async def test_a_deleted_image_is_gone_under_every_tag(bench: Bench) -> None:
    other = sample_images.image([{"other": b"stays"}])
    await sample_images.push(bench.client, bench.named("team/app", "stays"), other)
    await skopeo.run("delete", "--tls-verify=false", bench.at("team/app:v1"))
    output = json.loads(await skopeo.run("list-tags", "--tls-verify=false", bench.at("team/app")))
    assert output["Tags"] == ["stays"]
    await whole_images.check(bench.client, bench.named("team/app", "stays"), other)
    absent = ("inspect", "--tls-verify=false", bench.at("team/app:v1"))
    assert "manifest unknown" in await skopeo.refused(*absent)


async def test_an_index_without_its_images_is_refused_with_the_reason(
    bench: Bench,
) -> None:
    alone = ("copy", "--multi-arch=index-only", *OPEN)
    places = (bench.at("team/app:v1"), bench.at("nothing/app:v1"))
    assert "push it first" in await skopeo.refused(*alone, *places)


@pytest.mark.parametrize(
    "guard", [PASSWORDS, TokenGuard(passwords=PASSWORDS)], ids=["basic", "token"]
)
async def test_a_login_opens_a_guarded_registry_until_the_logout(
    bench: Bench, guard: AccessGuard, tmp_path: pathlib.Path
) -> None:
    auth_file = f"--authfile={tmp_path / 'auth.json'}"
    async with server.serve(tmp_path / "registry", guard=guard) as url:
        guarded = dataclasses.replace(bench, host=url.removeprefix("http://"))
        login = ("login", "--tls-verify=false", auth_file, "--username=carol")
        wrong = (*login, "--password=wrong", guarded.host)
        assert "invalid username/password" in await skopeo.refused(*wrong)
        await skopeo.run(*login, "--password=right", guarded.host)
        await copy("--all", auth_file, guarded.at("team/app:v1"), guarded.at("mine/app:v1"))
        await whole_images.check(bench.client, bench.named("mine/app"), IMAGE)
        await skopeo.run("delete", "--tls-verify=false", auth_file, guarded.at("mine/app:v1"))
        assert await bench.client.tags(bench.named("mine/app")) == ()
        await skopeo.run("logout", auth_file, guarded.host)
        tags = ("list-tags", "--tls-verify=false", auth_file, guarded.at("team/app"))
        assert "unauthorized" in await skopeo.refused(*tags)
