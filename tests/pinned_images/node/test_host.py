"""A host without a cluster: what its loop waits for, and how it ends."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import msgspec

from lading.api.machineconfiguration.pinned_image_set import PinnedImageSet
from lading.kernel.images import ImageKey
from lading.kernel.values import replace
from lading.pinned_images.node import host
from lading.pinned_images.node.types import Desired, DesiredSet, PinSettings
from lading.pinned_images.types import Progress
from lading.ports import cri, registry
from lading.ports.cri import ImageSpec, Pin
from lading.ports.registry import Credential
from tests.pinned_images.node import whole_nodes
from tests.pinned_images.node.builders import image_set, key
from tests.pinned_images.node.whole_nodes import Node, Runtime

GUEST = key("a", "kata")


def desired(*sets: DesiredSet) -> Desired:
    return Desired(node_name="node-1", sets=sets)


@dataclass
class LacksOne(Runtime):
    """Finds every image but one in its registry."""

    lacks: str = key("missing").image

    async def pull(self, spec: ImageSpec, credential: Credential | None = None) -> str:
        if spec.image == self.lacks:
            raise cri.ImageNotFound("not found in registry (404)", image=spec.image)
        return await super().pull(spec, credential)


async def synchronized(node: Node, wanted: Desired) -> tuple[Progress, list[str]]:
    """How it ended, and every sentence that was shown on the way."""
    shown: list[str] = []
    ended = asyncio.create_task(
        host.synchronize(
            node.tools,
            wanted,
            node.clock,
            changed=asyncio.Event(),
            show=lambda found: shown.append(found.message),
        )
    )
    async with asyncio.timeout(30):
        while not ended.done():
            await node.clock.advance(1)
            await asyncio.sleep(0)
    return ended.result(), shown


async def test_it_ends_when_every_set_is_pinned(tmp_path: Path) -> None:
    async with whole_nodes.opened(tmp_path) as node:
        found, shown = await synchronized(node, desired(image_set("s", "a", "b")))
    assert [(one.state, one.problems) for one in found.sets] == [("Pinned", ())]
    assert len(node.runtime.pins) == 2
    assert shown[0] == "0 of 2 images are on the node"
    assert shown[-1] == "2 of 2 images are on the node"


async def test_a_set_that_fails_ends_it_only_when_the_others_are_pinned(tmp_path: Path) -> None:
    async with whole_nodes.opened(tmp_path, LacksOne()) as node:
        sets = image_set("bad", "missing"), image_set("good", "a", "b")
        found, _ = await synchronized(node, desired(*sets))
    assert [one.state for one in found.sets] == ["Failed", "Pinned"]
    (problem,) = found.sets[0].problems
    assert (problem.reason, problem.image) == ("PrefetchFailed", key("missing").image)
    assert "not found in registry (404)" in problem.message


async def test_a_preview_refuses_an_image_that_guests_cannot_run(tmp_path: Path) -> None:
    async with whole_nodes.opened(tmp_path) as node:
        node.registry.error = registry.NoMatchingPlatform("no image for linux/arm64")
        wanted = desired(replace(image_set("s"), images=(GUEST,)))
        found = await host.preview(node.tools, wanted, node.clock)
    assert found.refusals == (f"{GUEST}: no image for linux/arm64",)
    assert found.to_pull == ()


async def test_a_preview_pulls_and_pins_nothing(tmp_path: Path) -> None:
    async with whole_nodes.opened(tmp_path) as node:
        found = await host.preview(node.tools, desired(image_set("s", "a")), node.clock)
    assert found.to_pull == (key("a"),)
    assert found.unknown == ()
    assert (node.runtime.pulled, node.runtime.pins) == ([], {})


def test_a_set_of_a_file_has_the_classes_and_the_settings_of_the_host() -> None:
    image = {"name": key("a").image, "runtimeClassNames": ["vm"]}
    body = {"metadata": {"name": "s"}, "spec": {"pinnedImages": [image]}}
    settings = PinSettings(expansion_factor=3.0)
    found = host.desired_of(
        "node-1",
        [msgspec.convert(body, PinnedImageSet)],
        handlers={"vm": "kata"},
        settings=settings,
    )
    assert found.settings == settings
    (one,) = found.sets
    assert (one.generation, one.images) == (1, (ImageKey(key("a").image, "kata"),))


@dataclass
class ForgetfulRuntime(Runtime):
    """Takes pins without an error, and keeps no record of them."""

    async def write(self, pins: Collection[Pin]) -> None:
        self.pins_written += 1


async def test_pins_that_are_not_kept_end_it_after_a_minute(tmp_path: Path) -> None:
    async with whole_nodes.opened(tmp_path, ForgetfulRuntime()) as node:
        found, _ = await synchronized(node, desired(image_set("s", "a")))
    assert node.runtime.pins_written > 1
    (problem,) = found.sets[0].problems
    assert problem.reason == "PinningFailed"
    assert problem.message == (
        "all images are on the node, but they are not pinned after 1m: "
        f"the runtime keeps no record of the pin of {key('a')}"
    )


async def test_a_node_reports_pins_that_are_not_kept(tmp_path: Path) -> None:
    async with whole_nodes.opened(tmp_path, ForgetfulRuntime()) as node:
        wanted = desired(image_set("s", "a"))
        await node.live(wanted, seconds=30)
        assert node.status.pinned_image_sets[0].last_failed_generation == 0
        await node.live(wanted, seconds=70)
        assert node.status.pinned_image_sets[0].last_failed_generation == 1
