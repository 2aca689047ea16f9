"""`lading pin` and `lading apply --runtime-endpoint` on an embedded runtime, as a person would."""

import json
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.embedded import sample_images
from lading.embedded.cri import server as cri_server
from lading.embedded.cri.core import EmbeddedRuntime
from lading.embedded.registry import server as registry_server
from lading.kernel import references
from lading.ports.cri import ImageSpec
from lading.wiring import machine
from lading.wiring.host import machine_platform
from tests import command


@dataclass(frozen=True)
class HostUnderTest:
    endpoint: str
    images: tuple[str, ...]
    folder: Path
    runtime: EmbeddedRuntime

    def place_of(self, *command: str) -> tuple[str, ...]:
        """A plan changes nothing, so it needs no state directory."""
        state_dir = ("--state-dir", str(self.state_dir)) if command == ("apply",) else ()
        return ("--runtime-endpoint", self.endpoint, *state_dir)

    @property
    def state_dir(self) -> Path:
        return self.folder / "state"

    def set_file(self, *images: str, name: str = "mine", runtime_class: str = "") -> str:
        path = self.folder / f"{name}.yaml"
        document = {
            "apiVersion": "machineconfiguration.openshift.io/v1",
            "kind": "PinnedImageSet",
            "metadata": {"name": name},
            "spec": {
                "pinnedImages": [
                    {"name": image}
                    | ({"runtimeClassNames": [runtime_class]} if runtime_class else {})
                    for image in images or self.images
                ]
            },
        }
        path.write_text(yaml.safe_dump(document))
        return str(path)


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[HostUnderTest]:
    clock = SystemClock()
    async with (
        registry_server.serve(tmp_path / "registry") as url,
        registry_client.connect(clock) as registry,
    ):
        runtime = EmbeddedRuntime(
            root=tmp_path / "images",
            registry=registry,
            clock=clock,
            platform=machine_platform(),
            guests={"vm": None},
        )
        images = [
            str(
                await sample_images.push(
                    registry,
                    references.parse(f"{url.removeprefix('http://')}/app{number}:v1"),
                    sample_images.image(
                        [{"file": sample_images.noise(str(number), 100_000)}],
                        platform=machine_platform(),
                    ),
                )
            )
            for number in range(3)
        ]
        async with cri_server.serve(runtime, tmp_path / "cri.sock") as endpoint:
            yield HostUnderTest(endpoint, tuple(images), tmp_path, runtime)


@dataclass(frozen=True)
class Result:
    code: int
    output: str


async def lading(host: HostUnderTest, *arguments: str) -> Result:
    data = {"XDG_DATA_HOME": str(host.folder / "data")}
    done = await command.lading(*arguments, environment=data)
    return Result(done.code, done.output + done.errors)


async def applied(host: HostUnderTest, *images: str, name: str = "mine") -> Result:
    file = host.set_file(*images, name=name)
    return await lading(host, "apply", "-f", file, *host.place_of("apply"))


async def pinned_names(host: HostUnderTest) -> list[str]:
    images = await host.runtime.images()
    return sorted(name for image in images if image.pinned for name in image.repo_digests)


async def test_a_plan_tells_bytes_and_changes_nothing(host: HostUnderTest) -> None:
    file = host.set_file()
    result = await lading(host, "pin", "plan", "-f", file, "--runtime-endpoint", host.endpoint)
    assert result.code == 0, result.output
    header, row = result.output.splitlines()
    assert header.split()[:4] == ["NODE", "ADDED", "BEFORE", "TO"]
    assert row.split()[1:4] == ["3", "0", "3"]
    assert await host.runtime.images() == ()


async def test_a_plan_can_be_read_by_a_program(host: HostUnderTest) -> None:
    result = await lading(
        host, "pin", "plan", "-f", host.set_file(host.images[0]),
        "--runtime-endpoint", host.endpoint, "-o", "json",
    )  # fmt: skip
    assert result.code == 0, result.output
    (plan,) = json.loads(result.output)
    assert plan["toPull"] == [{"image": host.images[0]}]
    assert (plan["images"], plan["sizeUnknown"], plan["refusals"]) == (1, [], [])
    assert plan["downloadBytes"] > 0
    assert plan["freeBytes"] - plan["diskBytes"] == plan["freeAfterBytes"]


async def test_a_plan_fails_for_an_image_that_does_not_exist(
    host: HostUnderTest,
) -> None:
    missing = host.images[0].split("@")[0] + "@sha256:" + "0" * 64
    file = host.set_file(host.images[1], missing)
    result = await lading(host, "pin", "plan", "-f", file, "--runtime-endpoint", host.endpoint)
    assert result.code == 1, result.output
    _, row, failure, error = result.output.splitlines()  # and no line of a log
    assert " KiB+ " in row
    assert row.endswith(" unknown")
    assert failure.startswith(f"ImageNotFound: {missing}: not found")
    assert error == "Error: 1 image cannot be pulled"


async def test_a_plan_asks_the_registry_again_for_what_it_knew(
    host: HostUnderTest,
) -> None:
    file = host.set_file(host.images[0])
    words = ("pin", "plan", "-f", file, "--runtime-endpoint", host.endpoint)
    assert (await lading(host, *words)).code == 0
    shutil.rmtree(host.folder / "registry")
    result = await lading(host, *words)
    assert result.code == 1, result.output
    assert f"ImageNotFound: {host.images[0]}: not found" in result.output


async def test_a_host_without_a_cluster_preloads_and_pins(host: HostUnderTest) -> None:
    result = await applied(host)
    assert result.code == 0, result.output
    assert "pinnedimageset/mine: 3 pinned" in result.output
    assert await pinned_names(host) == sorted(host.images)


async def test_a_set_that_shrinks_unpins_what_it_left_out(host: HostUnderTest) -> None:
    assert (await applied(host)).code == 0
    result = await applied(host, host.images[0])
    assert result.code == 0, result.output
    assert await pinned_names(host) == [host.images[0]]


async def test_a_set_takes_nothing_from_those_that_were_applied_before(host: HostUnderTest) -> None:
    first, shared, second = host.images
    assert (await applied(host, first, shared, name="first")).code == 0
    assert (await applied(host, shared, second, name="second")).code == 0
    assert await pinned_names(host) == sorted(host.images)
    assert (await applied(host, second, name="second")).code == 0
    assert await pinned_names(host) == sorted(host.images), "the first set still has the shared one"
    assert (await applied(host, first, name="first")).code == 0
    assert await pinned_names(host) == sorted([first, second])


async def test_an_image_that_is_not_there_fails_with_its_name(host: HostUnderTest) -> None:
    missing = host.images[0].split("@")[0] + "@sha256:" + "0" * 64
    result = await applied(host, host.images[1], missing)
    assert result.code == 1
    assert missing in result.output
    assert await pinned_names(host) == []


async def test_a_plan_without_any_set_is_refused(host: HostUnderTest) -> None:
    path = host.folder / "other.yaml"
    path.write_text("apiVersion: v1\nkind: ConfigMap\n")
    result = await lading(host, "pin", "plan", "-f", str(path), "--runtime-endpoint", host.endpoint)
    assert result.code == 1
    assert "no plan is made for kind ConfigMap" in result.output
    assert "there is no PinnedImageSet in it" in result.output


@pytest.mark.parametrize("command", [("apply",), ("pin", "plan")])
async def test_a_set_that_a_cluster_would_refuse_is_refused_here(
    host: HostUnderTest, command: tuple[str, ...]
) -> None:
    file = host.set_file("nginx")
    result = await lading(host, *command, "-f", file, *host.place_of(*command))
    assert result.code == 1
    assert f"{file}:7: spec.pinnedImages[0].name: Invalid value" in result.output
    assert await host.runtime.images() == ()


@pytest.mark.parametrize("command", [("apply",), ("pin", "plan")], ids=["apply", "plan"])
@pytest.mark.parametrize(
    ("gates", "message"),
    [
        ("RuntimeClassInImageCriApi=false", "RuntimeClassInImageCriApi is off on this node"),
        ("RuntimeClassInImageCriApi=true", "runtime class 'absent', which does not exist"),
    ],
    ids=["off", "on"],
)
async def test_the_gate_of_runtime_classes_means_the_same_to_a_plan_and_to_a_host(
    host: HostUnderTest, command: tuple[str, ...], gates: str, message: str
) -> None:
    file = host.set_file(host.images[0], runtime_class="absent")
    where = (*host.place_of(*command), "--feature-gates", gates)
    result = await lading(host, *command, "-f", file, *where)
    assert result.code == 1, result.output
    assert message in result.output
    assert await host.runtime.images() == ()


@pytest.mark.parametrize(
    ("gates", "to_pull"), [("", 0), ("RuntimeClassInImageCriApi=true", 1)], ids=["off", "on"]
)
async def test_with_the_gate_an_image_of_guests_is_not_the_image_of_the_host(
    host: HostUnderTest, gates: str, to_pull: int
) -> None:
    image = host.images[0]
    await host.runtime.pull(ImageSpec(image=image, runtime_handler="vm"))
    where = ("--runtime-endpoint", host.endpoint, "--feature-gates", gates, "-o", "json")
    result = await lading(host, "pin", "plan", "-f", host.set_file(image), *where)
    (plan,) = json.loads(result.output)
    assert len(plan["toPull"]) == to_pull


async def test_a_pull_secret_without_its_namespace_is_a_usage_error(host: HostUnderTest) -> None:
    result = await lading(host, "pin", "plan", "-f", host.set_file(), "--pull-secret", "mine")
    assert result.code == 2
    assert "'mine' does not have the form NAMESPACE/NAME" in result.output


async def test_a_pull_secret_needs_a_cluster(host: HostUnderTest) -> None:
    result = await lading(
        host, "pin", "plan", "-f", host.set_file(), "--runtime-endpoint", host.endpoint,
        "--pull-secret", "default/mine",
    )  # fmt: skip
    assert result.code == 2
    assert "REGISTRY_AUTH_FILE" in result.output


async def test_an_apply_beside_an_agent_is_refused_and_names_the_owner(
    host: HostUnderTest,
) -> None:
    with machine.owning(host.state_dir, "the agent of node worker-1"):
        result = await applied(host)
    assert result.code == 3
    assert "the agent of node worker-1 owns the pins of this machine" in result.output
    assert await host.runtime.images() == ()
    assert (await applied(host)).code == 0, "the agent has ended"


async def test_apply_and_the_clean_up_of_the_agent_agree(host: HostUnderTest) -> None:
    """For any user, with any home directory."""
    await applied(host)
    place = (*host.place_of("apply"), "--node", "worker-1")
    with machine.owning(host.state_dir, "the agent of node worker-1"):
        result = await lading(host, "agent", "--cleanup", *place)
    assert (result.code, len(await pinned_names(host))) == (3, 3)
    result = await lading(host, "agent", "--cleanup", *place)
    assert (result.code, result.output) == (0, "unpinned 3 images\n")
    assert await pinned_names(host) == []
