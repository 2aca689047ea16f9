"""How a plan's actions reach the runtime."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from lading.api.machineconfiguration.machine_config_node import MachineConfigNodeStatus
from lading.kernel.conditions import Condition, Truth
from lading.pinned_images.node import apply, report
from lading.pinned_images.node.types import ImageKey, RecordEvent, StartPull
from lading.ports.cri import ImageSpec
from lading.ports.registry import Credential
from tests.pinned_images.node import whole_nodes
from tests.pinned_images.node.whole_nodes import Runtime

NAME = f"registry.example/app@sha256:{'a' * 64}"
GUEST = f"registry.example/app@sha256:{'b' * 64}"


@dataclass
class NotingRuntime(Runtime):
    asked: list[ImageSpec] = field(default_factory=list)

    async def pull(self, spec: ImageSpec, credential: Credential | None = None) -> str:
        self.asked.append(spec)
        return await super().pull(spec, credential)


async def no_status(status: MachineConfigNodeStatus) -> None:
    raise AssertionError("there is nothing to write")


def no_event(event: RecordEvent) -> None:
    raise AssertionError("there is nothing to tell")


@pytest.mark.parametrize(
    ("handlers_honoured", "spec"),
    [
        (True, ImageSpec(image=NAME, runtime_handler="kata")),
        (False, ImageSpec(image=GUEST)),
    ],
    ids=["which knows handlers", "which does not"],
)
async def test_an_image_for_a_handler_is_asked_for_in_the_way_of_its_runtime(
    tmp_path: Path, handlers_honoured: bool, spec: ImageSpec
) -> None:
    runtime = NotingRuntime()
    start = StartPull(
        key=ImageKey(NAME, "kata"), pull_reference=GUEST, new_bytes=1, because="a test"
    )
    gates = "RuntimeClassInImageCriApi=true"
    async with whole_nodes.opened(tmp_path, runtime, gates=gates) as node:
        tools = replace(node.tools, handlers_honoured=handlers_honoured)
        await apply.apply(start, tools, write_status=no_status, record=no_event)
        await node.clock.advance(1)
    assert runtime.asked == [spec]


def test_only_our_own_conditions_are_written() -> None:
    found = tuple(
        Condition(type=type_, status=Truth.TRUE, reason="Because")
        for type_ in ("Updated", report.PROGRESSING, report.DEGRADED)
    )
    body = apply.status_body(MachineConfigNodeStatus(conditions=found))
    assert [one["type"] for one in body["conditions"]] == [report.PROGRESSING, report.DEGRADED]
