"""crictl, unmodified, with the embedded CRI service; and what it reads there and on containerd."""

import base64
import contextlib
import pathlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.embedded import sample_images
from lading.embedded.cri import core
from lading.embedded.cri import server as cri_server
from lading.embedded.registry import server as registry_server
from lading.embedded.registry.access import AccessGuard, Passwords, TokenGuard
from lading.kernel import platforms, references
from lading.ports import cri
from tests.real import crictl
from tests.real.bed import runtime

pytestmark = pytest.mark.components("cri-tools")

PASSWORDS = Passwords({"carol": "right"})
APP = sample_images.index(
    [
        sample_images.image([{"a": b"x" * 30_000}, {"b": b"y"}], user="1002:50000"),
        sample_images.image([{"c": b"z"}], platform=platforms.parse("linux/arm64")),
    ]
)
APP_ID = str(APP.children[0].blobs[0][0].digest)
OTHER = sample_images.image([{"d": b"z"}], user="www-data")
OTHER_ID = str(OTHER.blobs[0][0].digest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A registry with app:1, app:2 and other:1, and an empty service beside it."""

    host: str
    endpoint: str
    service: core.EmbeddedRuntime
    folder: pathlib.Path

    def named(self, repository: str) -> str:
        return f"{self.host}/crictl/{repository}"

    async def run(self, *arguments: str) -> str:
        return await crictl.run(self.endpoint, *arguments)

    async def pull_all(self) -> None:
        for name in ("app:1", "app:2", "other:1"):
            await self.run("pull", self.named(name))

    async def image_ids(self) -> list[str]:
        return (await self.run("images", "--quiet")).split()


@pytest.fixture
async def bench(tmp_path: pathlib.Path) -> AsyncIterator[Bench]:
    async with (
        registry_server.serve(tmp_path / "registry") as url,
        registry_client.connect(SystemClock()) as client,
    ):
        host = url.removeprefix("http://")
        for name, image in (("app:1", APP), ("app:2", APP), ("other:1", OTHER)):
            await sample_images.push(client, references.parse(f"{host}/crictl/{name}"), image)
        service = core.EmbeddedRuntime(
            root=tmp_path / "images",
            registry=client,
            clock=SystemClock(),
            platform=sample_images.LINUX_AMD64,
        )
        with contextlib.closing(service):
            async with cri_server.serve(service, tmp_path / "cri.sock") as endpoint:
                yield Bench(host=host, endpoint=endpoint, service=service, folder=tmp_path)


async def test_an_image_is_pulled_by_tag_and_by_digest(bench: Bench) -> None:
    by_tag = await bench.run("pull", bench.named("app:1"))
    assert by_tag == f"Image is up to date for {APP_ID}\n"
    by_digest = await bench.run("pull", bench.named(f"other@{OTHER.digest}"))
    assert by_digest == f"Image is up to date for {OTHER_ID}\n"
    listed = await crictl.run_json(bench.endpoint, "images", bench.named(f"other@{OTHER.digest}"))
    (image,) = listed["images"]
    assert image["repoTags"] == []
    assert image["repoDigests"] == [bench.named(f"other@{OTHER.digest}")]


@pytest.mark.components("containerd", "registry")
async def test_what_it_reads_is_what_it_reads_on_containerd(
    bench: Bench, containerd_2_3: runtime.Runtime
) -> None:
    read = []
    for endpoint in (bench.endpoint, containerd_2_3.endpoint):
        for name in ("app:1", "app:2", f"other@{OTHER.digest}"):
            await crictl.run(endpoint, "pull", bench.named(name))
        read.append(await everything_read(endpoint, bench))
        await crictl.run(endpoint, "rmi", bench.named("app:2"), OTHER_ID)
        complaint = await crictl.refused(endpoint, "inspecti", bench.named("app:1"))
        assert "no such image" in complaint
    assert read[0] == read[1]
    assert [image["id"] for image in read[0]["images"]] == [APP_ID, OTHER_ID]


async def everything_read(endpoint: str, bench: Bench) -> dict[str, Any]:
    """Of the images of this test: a runtime that others use too has more."""
    listed = await crictl.run_json(endpoint, "images", "--digests")
    ours = [image for image in listed["images"] if image["id"] in (APP_ID, OTHER_ID)]
    names = [APP_ID, APP_ID[:15], bench.named("app:1"), bench.named(f"app@{APP.digest}"), OTHER_ID]
    inspected = [await crictl.run_json(endpoint, "inspecti", "--quiet", name) for name in names]
    table = await crictl.run(endpoint, "images", "--digests", "--pinned", "--no-trunc")
    # Columns are as wide as the longest name, which may be another test's.
    rows = [line.split() for line in table.splitlines() if bench.host in line]
    return {"images": ours, "inspected": inspected, "rows": rows}


async def test_an_inspected_image_shows_its_configuration(bench: Bench) -> None:
    await bench.pull_all()
    shown = await crictl.run_json(bench.endpoint, "inspecti", bench.named("app:1"))
    assert shown["status"]["id"] == APP_ID
    assert shown["info"]["imageSpec"]["config"]["User"] == "1002:50000"
    assert shown["info"]["guestPlatform"] == "linux/amd64"


@pytest.mark.parametrize("name", ["absent:1", "other:2"])
async def test_an_absent_image_is_reported_as_absent(bench: Bench, name: str) -> None:
    await bench.pull_all()
    for command in ("inspecti", "rmi"):
        complaint = await crictl.refused(bench.endpoint, command, bench.named(name))
        assert "no such image" in complaint
    complaint = await crictl.refused(bench.endpoint, "pull", bench.named(name))
    assert "NotFound" in complaint


async def test_a_name_without_a_registry_is_absent_and_cannot_be_pulled(bench: Bench) -> None:
    assert "no such image" in await crictl.refused(bench.endpoint, "inspecti", "busybox")
    assert "names no registry" in await crictl.refused(bench.endpoint, "pull", "busybox")


@pytest.mark.parametrize(
    "guard", [PASSWORDS, TokenGuard(passwords=PASSWORDS)], ids=["basic", "token"]
)
async def test_a_password_is_taken_in_every_way_it_can_be_given(
    bench: Bench, guard: AccessGuard
) -> None:
    encoded = base64.b64encode(b"carol:right").decode()
    async with registry_server.serve(bench.folder / "registry", guard=guard) as url:
        app = f"{url.removeprefix('http://')}/crictl/app:1"
        for given in ((), ("--creds=carol:wrong",), ("--auth=nonsense",)):
            complaint = await crictl.refused(bench.endpoint, "pull", *given, app)
            assert "Unauthorized" in complaint
        assert await bench.image_ids() == []
        for given in (("--creds=carol:right",), (f"--auth={encoded}",)):
            assert APP_ID in await bench.run("pull", *given, app)
            await bench.run("rmi", app)


async def test_pruning_leaves_what_is_pinned_and_what_is_in_use(bench: Bench) -> None:
    await bench.pull_all()
    in_use = cri.Container(
        id="1",
        name="app",
        state=cri.ContainerState.RUNNING,
        image=cri.ImageSpec(image=bench.named("app:1")),
        image_id=APP_ID,
    )
    bench.service.declare_containers([in_use])
    assert await bench.run("rmi", "--prune") == f"Deleted: {bench.named('other:1')}\n"
    bench.service.declare_containers([])
    bench.service.set_labels(APP_ID, dict([core.PINNED_LABEL]))
    assert await bench.run("rmi", "--prune") == ""
    bench.service.set_labels(APP_ID, {})
    await bench.run("rmi", "--prune")
    assert await bench.image_ids() == []


async def test_the_filesystem_holds_what_was_pulled_until_all_is_removed(bench: Bench) -> None:
    await bench.pull_all()
    blobs = [file for file in (bench.folder / "images" / "blobs").rglob("*") if file.is_file()]
    assert await usage(bench) == (sum(file.stat().st_size for file in blobs), len(blobs))
    await bench.run("rmi", "--all")
    assert await usage(bench) == (0, 0)


async def usage(bench: Bench) -> tuple[int, int]:
    output = await crictl.run_json(bench.endpoint, "imagefsinfo")
    (filesystem,) = output["status"]["imageFilesystems"]
    assert filesystem["fsId"]["mountpoint"] == str(bench.folder / "images")
    return int(filesystem["usedBytes"]["value"]), int(filesystem["inodesUsed"]["value"])


async def test_the_runtime_says_what_it_is_and_that_nothing_runs(bench: Bench) -> None:
    assert "RuntimeReady" in await bench.run("info")
    assert "RuntimeName:  lading" in await bench.run("version")
    assert len((await bench.run("ps", "--all")).splitlines()) == 1
    assert len((await bench.run("pods")).splitlines()) == 1
