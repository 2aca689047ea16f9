"""What a look at a node finds: images by the names of their runtime, conditions, room."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lading.api.core import Node
from lading.kernel.images import ImageKey, Resolution
from lading.kernel.values import replace
from lading.pinned_images.node import observe
from lading.pinned_images.node.types import Desired, ObservedNodeImages, Present, WriteHistory
from lading.ports.cri import Filesystems, FilesystemUsage, Image, ImageSpec
from lading.ports.node import Space
from tests.pinned_images.node import builders, whole_nodes
from tests.pinned_images.node.whole_nodes import Runtime

NAME = f"registry.example/app@sha256:{'a' * 64}"
GUEST = f"registry.example/app@sha256:{'b' * 64}"
RECORD_SECONDS_MAX = 60.0
NOTHING = Desired(node_name="n", sets=())


def listed(name: str, handler: str = "", image_id: str = "sha256:1") -> Image:
    return Image(id=image_id, size_bytes=1, repo_digests=(name,), runtime_handler=handler)


def test_a_runtime_that_keeps_handlers_apart_has_an_image_only_for_the_handler_it_says() -> None:
    keys = (ImageKey(NAME), ImageKey(NAME, "kata"))
    found = observe.present(keys, [listed(NAME, "kata")], {}, handlers_honoured=True)
    assert found == {ImageKey(NAME, "kata"): Present(image_id="sha256:1", reference=NAME)}


def test_elsewhere_an_image_for_a_handler_is_the_manifest_of_its_guests() -> None:
    guest = ImageKey(NAME, "kata")
    resolutions = {guest: Resolution(manifest=GUEST, layers=())}
    host_only = observe.present([guest], [listed(NAME)], resolutions, handlers_honoured=False)
    assert host_only == {}
    found = observe.present([guest], [listed(GUEST)], resolutions, handlers_honoured=False)
    assert found == {guest: Present(image_id="sha256:1", reference=GUEST)}


def test_an_image_for_a_handler_is_not_present_while_it_is_unresolved() -> None:
    guest = ImageKey(NAME, "kata")
    assert observe.present([guest], [listed(NAME)], {}, handlers_honoured=False) == {}


def node(*conditions: dict[str, str], kubelet: str = "v1.36.0") -> Node:
    status = {"conditions": conditions, "nodeInfo": {"kubeletVersion": kubelet}}
    return msgspec.convert({"metadata": {"name": "n"}, "status": status}, Node)


async def observed_on(tmp_path: Path, seen: Node | None, **changed: Any) -> ObservedNodeImages:
    async with whole_nodes.opened(tmp_path, changed.pop("runtime", None)) as made:
        tools = replace(made.tools, **changed)
        return await observe.observe(
            tools, NOTHING, node=seen, last_status=None, history=WriteHistory(), now=builders.NOW
        )


@pytest.mark.parametrize(
    ("conditions", "is_well"),
    [
        ((), True),
        (({"type": "Ready", "status": "True"},), True),
        (({"type": "Ready", "status": "Unknown"},), False),
        (({"type": "DiskPressure", "status": "Unknown"},), False),
        (({"type": "DiskPressure", "status": "False"},), True),
    ],
)
async def test_a_node_is_well_unless_a_condition_says_otherwise(
    tmp_path: Path, conditions: tuple[dict[str, str], ...], is_well: bool
) -> None:
    assert (await observed_on(tmp_path, node(*conditions))).node_is_well is is_well


async def test_a_kubelet_that_ignores_pins_is_seen(tmp_path: Path) -> None:
    assert "1.28.2 and later" in (await observed_on(tmp_path, node(kubelet="v1.28.1"))).pins_ignored
    assert (await observed_on(tmp_path, None)).pins_ignored == ""


@dataclass
class RuntimeOnTwoDisks(Runtime):
    async def filesystems(self) -> Filesystems:
        usages = [
            FilesystemUsage(mountpoint=path, used_bytes=0, inodes_used=0, measured_at_nanoseconds=0)
            for path in ("/large", "/small", "/elsewhere")
        ]
        return Filesystems(images=tuple(usages), containers=())


class TwoDisks:
    async def space(self, path: str) -> Space | None:
        sizes = {"/large": 1000, "/small": 100}
        if path not in sizes:
            return None
        return Space(capacity_bytes=sizes[path], available_bytes=sizes[path])


async def test_the_tightest_of_several_image_file_systems_counts(tmp_path: Path) -> None:
    seen = await observed_on(tmp_path, None, runtime=RuntimeOnTwoDisks(), disk=TwoDisks())
    assert seen.budget is not None
    assert seen.budget.free_bytes == 100


async def test_observing_changes_nothing_and_acting_forgets_what_no_set_wants(
    tmp_path: Path,
) -> None:
    async with whole_nodes.opened(tmp_path) as made:
        made.tools.resolver.resolve([ImageKey(NAME)])
        await made.tools.resolver.wait()
        await made.observe(NOTHING)
        assert set(made.tools.resolver.resolutions()) == {ImageKey(NAME)}
        await made.settle(NOTHING)
        assert not made.tools.resolver.resolutions()


async def test_the_pull_of_an_image_is_remembered_until_it_is_pinned(
    tmp_path: Path,
) -> None:
    image = builders.key("a")
    wanted = Desired(node_name="n", sets=(builders.image_set("s", "a"),))
    async with whole_nodes.opened(tmp_path) as made:
        made.tools.pulls.start(image, ImageSpec(image=image.image), new_bytes=1)
        await made.clock.advance(1)
        found = await made.observe(wanted)
        assert image in found.images
        assert image in found.past_pulls


async def test_a_restart_takes_no_claim_of_images_for_guests_back(
    tmp_path: Path,
) -> None:
    """On a runtime that ignores handlers, the manifest of the guests is found by its digest."""
    runtime, key = Runtime(), ImageKey(NAME, "kata")
    wanted = builders.image_set("s", uid="s")
    desired = Desired(node_name="n", sets=(replace(wanted, images=(key,)),))
    gates = "RuntimeClassInImageCriApi=true"
    async with whole_nodes.opened(tmp_path, runtime, gates=gates) as before:
        assert not before.tools.handlers_honoured
        await before.settle(desired)
        (entry,) = before.status.pinned_image_sets
        assert entry.current_generation == 1
    async with whole_nodes.opened(tmp_path, runtime, gates=gates) as after:
        after.status, after.registry.is_away = before.status, True
        await after.settle(desired)
        assert after.statuses_written == 0


class NoDisk:
    async def space(self, path: str) -> Space | None:
        return None


async def test_an_image_file_system_that_cannot_be_seen_is_named(
    tmp_path: Path,
) -> None:
    assert (await observed_on(tmp_path, None)).disk_unchecked == ""
    one_of_three = await observed_on(tmp_path, None, runtime=RuntimeOnTwoDisks(), disk=TwoDisks())
    assert one_of_three.disk_unchecked.startswith("the agent cannot see /elsewhere")
    none = await observed_on(tmp_path, None, disk=NoDisk())
    assert none.disk_unchecked.startswith("the agent cannot see /images")


async def test_images_that_the_gate_left_are_seen_only_for_sets_with_classes(
    tmp_path: Path,
) -> None:
    runtime, key = Runtime(), ImageKey(NAME, "kata")
    wanted = replace(builders.image_set("s"), images=(key,))
    gates = "RuntimeClassInImageCriApi=true"
    async with whole_nodes.opened(tmp_path, runtime, gates=gates) as on:
        await on.settle(Desired(node_name="n", sets=(wanted,)))
        assert runtime.pins
        async with asyncio.timeout(RECORD_SECONDS_MAX):
            while on.tools.pulls.snapshot():  # noqa: ASYNC110 - a pull ends with its record
                await asyncio.sleep(0.01)
        with_unknown_class = replace(wanted, unresolvable=("there is no such class",))
        seen = await on.observe(Desired(node_name="n", sets=(with_unknown_class,)))
        assert not seen.images_kept_while_gate_is_off
    void = replace(wanted, images=(), unresolvable=("its gate is off",))
    async with whole_nodes.opened(tmp_path, runtime) as off:
        seen = await off.observe(Desired(node_name="n", sets=(builders.image_set("t"),)))
        assert not seen.images_kept_while_gate_is_off
        seen = await off.observe(Desired(node_name="n", sets=(void,)))
        assert seen.images_kept_while_gate_is_off == set(map(whole_nodes.image_id, runtime.names))
        await off.settle(Desired(node_name="n", sets=(void,)))
    assert not runtime.pins
