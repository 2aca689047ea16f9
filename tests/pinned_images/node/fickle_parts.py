"""The parts of a node that may fail at any moment: clock, runtime, disk, API server."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import msgspec

from lading.adapters.clock import VirtualClock
from lading.api.machineconfiguration.machine_config_node import (
    MACHINE_CONFIG_NODE,
    MachineConfigNode,
)
from lading.kernel.objects import Resource
from lading.loop.informer import Informer
from lading.ports import cri, kube
from lading.ports.cri import ImageSpec, Pin, RecordedPin
from lading.ports.node import Space
from lading.ports.registry import Credential
from tests.pinned_images.node import whole_nodes
from tests.pinned_images.node.whole_nodes import TERABYTE, Runtime

NODE = "node-1"
AMPLE_BYTES = TERABYTE // 2
RESERVE_BYTES = TERABYTE * 15 // 100
"""What the kubelet's image collection wants free by default."""


class FickleClock(VirtualClock):
    def set_back(self, duration: timedelta) -> None:
        self._start -= duration


@dataclass
class FickleRuntime(Runtime):
    faults: dict[str, cri.CriError] = field(default_factory=dict)
    """What a pull of the image comes to; of one that is not named it goes well."""
    lost_pins: set[str] = field(default_factory=set)
    """Images with pins that are recorded, but no longer in force."""
    refusal: cri.CannotPin | None = None

    async def pull(self, spec: ImageSpec, credential: Credential | None = None) -> str:
        if spec.image in self.faults:
            raise self.faults[spec.image]
        return await super().pull(spec, credential)

    async def cannot_pin(self) -> cri.CannotPin | None:
        return self.refusal

    async def recorded(self) -> tuple[RecordedPin, ...]:
        """The pin of an image that has gone is recorded until it is let go, as on CRI-O."""
        in_force = set(map(whole_nodes.image_id, self.names)) - self.lost_pins
        pins = self.pins.values()
        return tuple(RecordedPin(pin=pin, effective=pin.image_id in in_force) for pin in pins)

    async def write(self, pins: Collection[Pin]) -> None:
        await super().write(pins)
        self.lost_pins.clear()


@dataclass
class FickleDisk:
    usable_bytes: int = AMPLE_BYTES

    async def space(self, path: str) -> Space:
        free_bytes = RESERVE_BYTES + self.usable_bytes
        return Space(capacity_bytes=TERABYTE, available_bytes=free_bytes)


@dataclass
class Notes:
    """What outlives the agent on disk."""

    written: dict[str, Any] = field(default_factory=dict)

    def entries(self) -> dict[str, Any]:
        return self.written

    def put(self, key: str, value: Any) -> None:
        self.written[key] = value


@dataclass
class FickleApi:
    """Takes what an agent says, and shows it to the caches."""

    nodes: Informer[MachineConfigNode]
    is_away: bool = False
    _revision: int = 0

    def show(self, status: dict[str, Any]) -> MachineConfigNode:
        self._revision += 1
        body = {
            "metadata": {"name": NODE, "uid": NODE, "resourceVersion": str(self._revision)},
            "spec": {"node": {"name": NODE}, "pool": {"name": "worker"}},
            "status": status,
        }
        shown = msgspec.convert(body, MachineConfigNode)
        self.nodes.put(shown)
        return shown

    async def get(self, resource: Resource[Any], name: str) -> Any:
        """The definition of MachineConfigNodes: that is all an agent asks for."""
        self._answer()
        assert name == MACHINE_CONFIG_NODE.name
        return msgspec.convert(MACHINE_CONFIG_NODE.manifest(), resource.type)

    async def apply(self, resource: object, body: dict[str, Any], **_: object) -> MachineConfigNode:
        self._answer()
        return self.show(body["status"])

    def _answer(self) -> None:
        if self.is_away:
            raise kube.Unavailable("the API server is away")
