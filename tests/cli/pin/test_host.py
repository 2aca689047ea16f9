"""A host without a cluster: its sets are listed and removed, and one process changes its pins."""

import json
import os
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import click
import pytest

from lading.adapters.clock import SystemClock
from lading.cli.error_messages import RefusedByGuard
from lading.cli.pin import host as host_pins
from lading.embedded import sample_sets
from lading.embedded.cri import server as cri_server
from lading.embedded.cri.core import EmbeddedRuntime
from lading.ports.cri import ImageSpec, Pin, RecordedPin
from lading.wiring import machine
from lading.wiring.host import machine_platform, open_runtime
from tests.command import CommandResult, lading
from tests.pinned_images.served_registry import ServedRegistry, served

__all__ = ["served"]


@dataclass(frozen=True)
class PinnedHost:
    endpoint: str
    runtime: EmbeddedRuntime
    own: str
    shared: str
    state_dir: Path

    async def run(self, *words: str) -> CommandResult:
        return await lading(*words, "--runtime-endpoint", self.endpoint)

    async def delete(self, *words: str) -> CommandResult:
        return await self.run("delete", *words, "--state-dir", str(self.state_dir))

    async def pinned(self) -> set[str]:
        images = await self.runtime.images()
        return {name for image in images if image.pinned for name in image.repo_digests}


@pytest.fixture
async def host(served: ServedRegistry, tmp_path: Path) -> AsyncIterator[PinnedHost]:
    """The set `one` has both images, the set `two` has the shared one."""
    runtime = EmbeddedRuntime(
        root=tmp_path / "images",
        registry=served.client,
        clock=SystemClock(),
        platform=machine_platform(),
    )
    own, shared = await served.push("own:v1"), await served.push("shared:v1")
    async with (
        cri_server.serve(runtime, tmp_path / "cri.sock") as endpoint,
        open_runtime(endpoint, SystemClock()) as opened,
    ):
        pins = [
            Pin(image=image, image_id=await runtime.pull(ImageSpec(image=image)), owners=owners)
            for image, owners in ((own, ("one",)), (shared, ("one", "two")))
        ]
        await opened.pins.write(pins)
        yield PinnedHost(endpoint, runtime, own, shared, tmp_path / "host")


async def test_the_sets_of_a_host_are_listed(host: PinnedHost) -> None:
    result = await host.run("get", "pis")
    assert [line.split() for line in result.output.splitlines()] == [
        ["NAME", "PINS", "EFFECTIVE"],
        ["one", "2", "2"],
        ["two", "1", "1"],
    ]
    (image,) = json.loads((await host.run("get", "pis/two", "-o", "json")).output)["spec"][
        "pinnedImages"
    ]
    assert image == {"name": host.shared}


async def test_one_set_of_a_host_is_removed_alone(host: PinnedHost) -> None:
    result = await host.delete("pis", "one")
    assert (result.code, result.output) == (0, "pinnedimageset/one deleted\n")
    assert await host.pinned() == {host.shared}
    assert "one" not in (await host.run("get", "pis", "-o", "name")).output


async def test_the_sets_of_a_file_are_removed_from_a_host(host: PinnedHost, tmp_path: Path) -> None:
    file = tmp_path / "set.yaml"
    file.write_text(json.dumps(sample_sets.set_of("one", [host.own])))
    result = await host.delete("-f", str(file))
    assert (result.code, result.output) == (0, "pinnedimageset/one deleted\n")
    assert await host.pinned() == {host.shared}


async def test_several_sets_of_a_host_are_a_list(host: PinnedHost) -> None:
    listed = json.loads((await host.run("get", "pis", "two", "one", "-o", "json")).output)
    assert [item["metadata"]["name"] for item in listed["items"]] == ["two", "one"]
    names = await host.run("get", "pis", "-o", "name")
    assert names.output == "pinnedimageset/one\npinnedimageset/two\n"


@pytest.mark.parametrize(
    "words", [("get", "cm"), ("get", "pis/one", "cm/two"), ("delete", "pis/one", "cm/two")]
)
async def test_another_kind_is_refused_before_anything_is_done(
    host: PinnedHost, words: tuple[str, ...]
) -> None:
    verb, *names = words
    result = await (host.delete(*names) if verb == "delete" else host.run(verb, *names))
    assert (result.code, result.output) == (2, "")
    assert "the only kind is PinnedImageSet, not 'cm'" in result.errors
    assert await host.pinned() == {host.own, host.shared}


async def test_a_set_that_the_host_does_not_have_is_an_error(host: PinnedHost) -> None:
    result = await host.delete("pis", "three")
    assert result.code == 1
    assert "no PinnedImageSet 'three' is pinned on this host; pinned are: one, two" in result.errors
    assert await host.pinned() == {host.own, host.shared}


def test_only_sets_live_on_a_host() -> None:
    with pytest.raises(click.UsageError, match="the only kind is PinnedImageSet, not 'nodes'"):
        host_pins.require_kind("nodes")


def test_a_pin_belongs_to_each_of_its_sets() -> None:
    pin = RecordedPin(pin=Pin(image="a", image_id="1", owners=("x", "y")), effective=False)
    assert host_pins.by_set([pin]) == {"x": [pin], "y": [pin]}


ENDPOINT = "unix:///run/containerd/containerd.sock"


def owned(state_dir: Path, command: str) -> AbstractContextManager[None]:
    return host_pins.owned(state_dir, ENDPOINT, command)


def test_two_commands_do_not_change_the_pins_of_a_machine_together(
    tmp_path: Path,
) -> None:
    refused = pytest.raises(RefusedByGuard, match="`lading apply` owns the pins of this machine")
    with owned(tmp_path, "apply"), refused, owned(tmp_path, "delete"):
        pass
    with owned(tmp_path, "delete"):
        pass


def test_an_owner_that_was_killed_owns_nothing(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        with machine.owning(tmp_path, "the agent of node worker-1"):
            os._exit(0)
    os.waitpid(child, 0)
    with owned(tmp_path, "apply"):
        pass


def test_a_node_of_lading_up_belongs_to_its_agent(tmp_path: Path) -> None:
    """Its state directory is not that of this machine."""
    node = tmp_path / "nodes" / "node-1"
    endpoint = f"unix://{node}/runtime.sock"
    refused = pytest.raises(RefusedByGuard, match="the agent of node node-1 owns the pins")
    with (
        machine.owning(node, "the agent of node node-1"),
        refused,
        host_pins.owned(tmp_path / "state", endpoint, "apply"),
    ):
        pass
    with host_pins.owned(tmp_path / "state", endpoint, "apply"):
        pass


def test_a_directory_that_cannot_be_written_names_the_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tests may run as root, to whom nothing is forbidden."""
    place = tmp_path / "state"

    def forbidden(_path: object, *_flags: object) -> NoReturn:
        raise PermissionError(13, "Permission denied", str(place))

    monkeypatch.setattr(os, "open", forbidden)
    refused = pytest.raises(click.ClickException, match="Permission denied; run as root, or set")
    with refused, owned(place, "apply"):
        pass
