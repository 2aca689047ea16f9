"""The CRI suite on real runtimes, and critest on the embedded service."""

import contextlib
import pathlib
from collections.abc import AsyncIterator

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.adapters.registry.certificates import CertificateFolders
from lading.adapters.registry.registries_conf import RegistriesConf, RegistryEntry
from lading.embedded import sample_images
from lading.embedded.cri import server as cri_server
from lading.embedded.cri.core import EmbeddedRuntime
from lading.embedded.registry import server as registry_server
from lading.embedded.sample_images import SampleImage
from lading.kernel import platforms, references
from lading.ports.registry import Registry
from tests.conformance.cri import targets
from tests.real import crictl, programs, suites
from tests.real.bed import registry, runtime
from tests.real.setup import binaries

# Not "Image Identifier Consistency": it runs containers, which the service does not.
CRITEST_FOCUS = "Image Manager|Image Consistency"
# Its name holds the digest of bytes that only the network has, and --test-images-file cannot change
# it. Our own suite asks for the same: test_an_image_pulled_by_digest_has_no_tag.
CRITEST_SKIP = "public image with digest should be pulled and removed"
CRITEST_SPECS = 12
CRITEST_BENCHMARKS_SKIP = "PodSandbox|Container"

BENCHMARK = """
imagesNumber: 50
imagesNumberParallel: 8
imageBenchmarkTimeoutSeconds: 60
imagePullingBenchmarkImage: {name}
imageListingBenchmarkImages: [{name}]
"""

STAGING = "gcr.io/k8s-staging-cri-tools"
USERS = {
    "test-image-user-uid": "1002",
    "test-image-user-username": "www-data",
    "test-image-user-uid-group": "1003:50000",
    "test-image-user-username-group": "www-data:www-data",
}


@pytest.mark.parametrize(
    "fixture",
    [
        pytest.param("containerd_2_3", marks=pytest.mark.components("containerd", "registry")),
        pytest.param("containerd_1_7", marks=pytest.mark.components("containerd", "registry")),
        pytest.param("containerd_1_6", marks=pytest.mark.components("containerd", "registry")),
        pytest.param("crio_1_36", marks=pytest.mark.components("cri-o", "registry")),
    ],
)
def test_the_suite_passes_but_for_the_known_differences(
    fixture: str, registry_3_1: registry.Registry, request: pytest.FixtureRequest
) -> None:
    running: runtime.Runtime = request.getfixturevalue(fixture)
    settings = {
        targets.ENDPOINT_VARIABLE: running.endpoint,
        targets.REGISTRY_VARIABLE: registry_3_1.host,
        targets.CRIO_DROP_INS_VARIABLE: str(running.conf_dir),
    }
    suites.check("cri", settings)


@pytest.mark.components("cri-tools")
async def test_critest_is_satisfied_with_the_embedded_service(tmp_path: pathlib.Path) -> None:
    async with embedded_service(tmp_path) as endpoint:
        output = await programs.run(
            binaries.built("cri-tools", "critest"),
            f"--runtime-endpoint={endpoint}",
            f"--ginkgo.focus={CRITEST_FOCUS}",
            f"--ginkgo.skip={CRITEST_SKIP}",
            "--ginkgo.no-color",
        )
    assert f"{CRITEST_SPECS} Passed | 0 Failed" in output


@pytest.mark.components("cri-tools")
async def test_critest_pulls_and_removes_by_digest_many_at_a_time(tmp_path: pathlib.Path) -> None:
    """Its benchmark takes any name; while one sample pulls the image, another removes it."""
    name = f"{STAGING}/test-image-1@{image('test-image-1').digest}"
    parameters = tmp_path / "parameters.yaml"
    parameters.write_text(BENCHMARK.format(name=name))
    async with embedded_service(tmp_path) as endpoint:
        output = await programs.run(
            binaries.built("cri-tools", "critest"),
            f"--runtime-endpoint={endpoint}",
            "--benchmark",
            f"--benchmarking-params-file={parameters}",
            f"--ginkgo.skip={CRITEST_BENCHMARKS_SKIP}",
            "--ginkgo.no-color",
        )
        assert await crictl.run(endpoint, "images", "--quiet") == ""
    assert "CRI validation - 2/" in output, "pull and remove, and list"


@contextlib.asynccontextmanager
async def embedded_service(folder: pathlib.Path) -> AsyncIterator[str]:
    """With the images that critest names by constant, from a mirror on this machine."""
    async with registry_server.serve(folder / "registry") as url:
        mirror = url.removeprefix("http://")
        hosts = ("gcr.io", "registry.k8s.io", "k8s.gcr.io")
        routing = RegistriesConf(
            tuple(
                RegistryEntry(prefix=host, location=f"{mirror}/{host}", insecure=True)
                for host in hosts
            ),
            CertificateFolders(folder / "no-certificates"),
            pytest.fail,
        )
        async with registry_client.connect(SystemClock(), routing=routing) as client:
            await push_images_of_critest(client)
            embedded = EmbeddedRuntime(
                root=folder / "images",
                registry=client,
                clock=SystemClock(),
                platform=platforms.parse("linux/amd64"),
            )
            with contextlib.closing(embedded):
                async with cri_server.serve(embedded, folder / "cri.sock") as endpoint:
                    yield endpoint


async def push_images_of_critest(client: Registry) -> None:
    wanted = {f"{STAGING}/{name}:latest": image(name, user=user) for name, user in USERS.items()}
    for name in ("test-image-latest", "test-image-1", "test-image-2", "test-image-3"):
        wanted[f"{STAGING}/{name}:latest"] = image(name)
    for tag in ("test", "all"):
        wanted[f"{STAGING}/test-image-tag:{tag}"] = image(f"test-image-tag:{tag}")
    for tag in ("1", "2", "3"):
        wanted[f"{STAGING}/test-image-tags:{tag}"] = image("test-image-tags")
    for host in ("registry.k8s.io", "k8s.gcr.io"):
        wanted[f"{host}/pause:3.9"] = image("pause")
    for name, sample in wanted.items():
        await sample_images.push(client, references.parse(name), sample)


def image(content: str, *, user: str = "") -> SampleImage:
    return sample_images.image([{"content": content.encode()}], user=user)
