"""The cluster under test: what a scenario may do to it, and what it may ask. Knows no server."""

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from lading.adapters.kube.client import KubeClient
from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.machine_config_node import (
    MACHINE_CONFIG_NODES,
    MachineConfigNode,
    NodePinnedImageSet,
)
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.embedded import sample_images
from lading.kernel import conditions, references
from lading.kernel.conditions import Condition
from lading.ports.cri import Cri, Pins
from lading.ports.registry import Registry
from tests.e2e import waiting
from tests.e2e.door import Door
from tests.e2e.private_registry import PrivateRegistry
from tests.e2e.programs import Program

POOL = "worker"
IMAGE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeUnderTest:
    name: str
    cri: Cri
    pins: Pins
    """Asks and changes the runtime behind the agent's back."""
    agent: Program
    cleanup: tuple[str, ...]
    """The arguments of `lading agent --cleanup` on this node."""

    async def present(self) -> set[str]:
        return {name for image in await self.cri.images() for name in image.repo_digests}

    async def pinned(self) -> set[str]:
        """What the runtime itself says is pinned."""
        return {
            name for image in await self.cri.images() if image.pinned for name in image.repo_digests
        }

    async def owners(self) -> dict[str, tuple[str, ...]]:
        return {recorded.pin.image: recorded.pin.owners for recorded in await self.pins.recorded()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterUnderTest:
    kube: KubeClient
    """As administrator; the programs have identities of their own."""
    nodes: tuple[NodeUnderTest, ...]
    registry: Registry
    door: Door
    controller: Program
    private: PrivateRegistry

    async def push(self, name: str, *, size_bytes: int = IMAGE_BYTES) -> str:
        """A new image in the registry; its reference by digest."""
        sample = sample_images.image([{"content": os.urandom(size_bytes)}])
        reference = references.parse(f"{self.door.host}/{name}:1")
        return str(await sample_images.push(self.registry, reference, sample))

    def absent_image(self) -> str:
        """A reference that the registry does not know."""
        return f"{self.door.host}/absent@sha256:{'0' * 64}"

    async def make_set(
        self, name: str, *images: str, node_labels: Mapping[str, str] | None = None
    ) -> None:
        spec: dict[str, Any] = {"pinnedImages": [{"name": image} for image in images]}
        if node_labels is not None:
            spec["nodeSelector"] = {"matchLabels": dict(node_labels)}
        body = {
            "apiVersion": PINNED_IMAGE_SETS.api_version,
            "kind": PINNED_IMAGE_SETS.kind,
            "metadata": {"name": name, "labels": {group.ROLE_LABEL: POOL}},
            "spec": spec,
        }
        await self.kube.create(PINNED_IMAGE_SETS, body)

    async def edit_set(self, name: str, *images: str) -> None:
        patch = {"spec": {"pinnedImages": [{"name": image} for image in images]}}
        await self.kube.patch(PINNED_IMAGE_SETS, name, patch)

    async def delete_set(self, name: str) -> None:
        await self.kube.delete(PINNED_IMAGE_SETS, name)

    async def machine_config_node(self, node: NodeUnderTest) -> MachineConfigNode:
        return await self.kube.get(MACHINE_CONFIG_NODES, node.name)

    async def reported_set(self, node: NodeUnderTest, name: str) -> NodePinnedImageSet:
        entries = (await self.machine_config_node(node)).status.pinned_image_sets
        return next((one for one in entries if one.name == name), NodePinnedImageSet(name=name))

    async def condition(self, node: NodeUnderTest, type_: str) -> Condition | None:
        return conditions.find((await self.machine_config_node(node)).status.conditions, type_)

    async def until_done(self, name: str, *, generation: int = 1) -> None:
        """Every node says that it holds and pins this generation."""
        for node in self.nodes:
            await self.until_node_is_done(node, name, generation)

    async def until_node_is_done(self, node: NodeUnderTest, name: str, generation: int = 1) -> None:
        async def is_done() -> bool:
            return (await self.reported_set(node, name)).current_generation == generation

        async def why_not() -> str:
            status = msgspec.json.format(
                msgspec.json.encode((await self.machine_config_node(node)).status)
            )
            return "\n".join((status.decode(), node.agent.log_tail(), self.controller.log_tail()))

        what = f"{node.name} says that it holds generation {generation} of {name}"
        await waiting.until(is_done, what, why_not=why_not)

    async def until_pinned(self, node: NodeUnderTest, images: Collection[str]) -> None:
        async def is_so() -> bool:
            return await node.pinned() >= set(images)

        await waiting.until(is_so, f"{node.name} pins {', '.join(images)}")

    async def until_unpinned(self, node: NodeUnderTest, images: Collection[str]) -> None:
        async def is_so() -> bool:
            return not await node.pinned() & set(images)

        await waiting.until(is_so, f"{node.name} no longer pins {', '.join(images)}")

    async def clear(self) -> None:
        """As it was before a scenario: everything runs, no set exists, nothing is pinned."""
        await self.door.open()
        self.private.delete_secret()
        for program in (self.controller, *(node.agent for node in self.nodes)):
            if not program.is_running:
                await program.start()
                await program.ready()
        for image_set in (await self.kube.page(PINNED_IMAGE_SETS)).items:
            await self.delete_set(image_set.metadata.name)
        for node in self.nodes:
            await self._until_it_holds_nothing(node)

    async def _until_it_holds_nothing(self, node: NodeUnderTest) -> None:
        async def is_so() -> bool:
            sets = (await self.machine_config_node(node)).status.pinned_image_sets
            return not sets and not await node.owners()

        await waiting.until(is_so, f"{node.name} holds nothing")
