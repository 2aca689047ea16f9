"""A whole node in memory, with everything real but the runtime, the registry and the disk."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from prometheus_client import CollectorRegistry

from lading.adapters.clock import VirtualClock
from lading.adapters.kubelet import FixedLimits
from lading.adapters.state_files import LocalStateDirectory
from lading.api.machineconfiguration.machine_config_node import MachineConfigNodeStatus
from lading.kernel import manifests
from lading.kernel.digests import Digest
from lading.kernel.images import ImageKey
from lading.kernel.manifests import Descriptor
from lading.kernel.planning import Plan, RecordEvent
from lading.kernel.platforms import Platform
from lading.kernel.references import Reference
from lading.pinned_images.node import observe
from lading.pinned_images.node import plan as policy
from lading.pinned_images.node.apply import NodeActions
from lading.pinned_images.node.metrics import PinMetrics
from lading.pinned_images.node.observe import NodeTools
from lading.pinned_images.node.types import Desired, ObservedNodeImages
from lading.ports import cri
from lading.ports import registry as registries
from lading.ports.cri import Filesystems, Image, ImageSpec, Pin, RecordedPin
from lading.ports.node import KubeletLimits, NodeParts, NodeRuntime, PullCredentials, Space
from lading.ports.registry import Credential, Manifest
from lading.wiring.gates import parse_gates
from lading.wiring.host import open_tools

SHARED_LAYERS = 6
LAYER_BYTES = 1_000_000
TERABYTE = 10**12
LOOKS_MAX = 200
"""More often a node need not look before nothing is left to do."""


@dataclass
class Registry:
    """Has every image: its own layer, and some that all have."""

    asked: list[str] = field(default_factory=list)
    is_away: bool = False
    error: registries.RegistryError | None = None

    async def manifest(self, reference: Reference) -> Manifest:
        if self.is_away:
            raise registries.Unavailable("the registry is away")
        if self.error is not None:
            raise self.error
        self.asked.append(str(reference))
        assert reference.digest is not None
        shared = [Digest.of(str(number).encode()) for number in range(SHARED_LAYERS)]
        layers = [
            {"mediaType": manifests.OCI_LAYER_GZIP, "digest": str(digest), "size": LAYER_BYTES}
            for digest in (*shared, Digest.of(str(reference).encode()))
        ]
        config = {**layers[-1], "mediaType": manifests.OCI_CONFIG}
        document = {"schemaVersion": 2, "config": config, "layers": layers}
        return Manifest(
            media_type=manifests.OCI_MANIFEST,
            digest=reference.digest,
            content=msgspec.json.encode(document),
        )

    async def blob(self, repository: Reference, descriptor: Descriptor) -> AsyncIterator[bytes]:
        """The configuration of an image for any platform."""
        yield b"{}"


@dataclass
class Runtime:
    names: set[str] = field(default_factory=set)
    pulled: list[str] = field(default_factory=list)
    pulling_count: int = 0
    pins: dict[str, Pin] = field(default_factory=dict)
    pins_written: int = 0
    looks: int = 0
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    """While it is clear, pulls wait."""
    is_away: bool = False
    pins_fault: Exception | None = None

    def __post_init__(self) -> None:
        self.gate.set()

    async def images(self, only: ImageSpec | None = None) -> tuple[Image, ...]:
        self.looks += 1
        if self.is_away:
            raise cri.Unavailable("the runtime is away")
        return tuple(
            Image(id=image_id(name), size_bytes=LAYER_BYTES, repo_digests=(name,))
            for name in sorted(self.names)
        )

    async def pull(self, spec: ImageSpec, credential: Credential | None = None) -> str:
        self.pulling_count += 1
        try:
            await self.gate.wait()
        finally:
            self.pulling_count -= 1
        self.names.add(spec.image)
        self.pulled.append(spec.image)
        return image_id(spec.image)

    async def image(self, spec: ImageSpec) -> Image | None:
        return next((one for one in await self.images() if spec.image in one.repo_digests), None)

    async def filesystems(self) -> Filesystems:
        usage = cri.FilesystemUsage(
            mountpoint="/images", used_bytes=0, inodes_used=0, measured_at_nanoseconds=0
        )
        return Filesystems(images=(usage,), containers=())

    async def containers(self) -> tuple[cri.Container, ...]:
        return ()

    async def status(self) -> cri.RuntimeStatus:
        return cri.RuntimeStatus(ready=True, network_ready=True)

    async def inspect(self, spec: ImageSpec) -> cri.Inspection | None:
        return None

    makes_tags = True

    async def outdated(self) -> bool:
        return False

    async def cannot_pin(self) -> cri.CannotPin | None:
        return None

    async def recorded(self) -> tuple[RecordedPin, ...]:
        return tuple(RecordedPin(pin=pin, effective=True) for pin in self.pins.values())

    async def write(self, pins: Collection[Pin]) -> None:
        if self.pins_fault is not None:
            raise self.pins_fault
        self.pins = {pin.image_id: pin for pin in pins}
        self.pins_written += 1


class LargeDisk:
    async def space(self, path: str) -> Space:
        return Space(capacity_bytes=TERABYTE, available_bytes=TERABYTE)


class Anonymous:
    async def credentials(self, image: str) -> tuple[Credential, ...]:
        return ()

    def accepted(self, image: str, credential: Credential) -> None:
        raise AssertionError("there is no credential")

    def refused(self, image: str, credential: Credential) -> None:
        raise AssertionError("there is no credential")


def image_id(name: str) -> str:
    return str(Digest.of(f"configuration of {name}".encode()))


def image_keys(words: Iterable[str]) -> tuple[ImageKey, ...]:
    return tuple(ImageKey(f"registry.example/{word}@{Digest.of(word.encode())}") for word in words)


@dataclass
class Node:
    tools: NodeTools
    runtime: Runtime
    registry: Registry
    clock: VirtualClock
    status: MachineConfigNodeStatus = field(default_factory=MachineConfigNodeStatus)
    statuses_written: int = 0
    actions: NodeActions = field(init=False)

    def __post_init__(self) -> None:
        self.actions = NodeActions(self.tools, self.clock, status=self)

    async def observe(self, desired: Desired) -> ObservedNodeImages:
        seen = await observe.observe(
            self.tools,
            desired,
            node=None,
            last_status=self.status,
            history=self.actions.history,
            now=self.clock.now(),
        )
        self.actions.history = seen.history
        return seen

    async def write(self, status: MachineConfigNodeStatus) -> None:
        self.status = status
        self.statuses_written += 1

    async def settle(self, desired: Desired) -> None:
        """Looks and acts until nothing is left to do."""
        for _ in range(LOOKS_MAX):
            plan = policy.plan(desired, await self.observe(desired), self.clock.now())
            if not plan.actions:
                return
            await self._apply(plan)
            await self.clock.advance(1)
        raise AssertionError(f"there is still something to do: {plan.actions[:3]}")

    async def live(self, desired: Desired, *, seconds: int) -> None:
        """Looks and acts once a second, whatever comes of it."""
        for _ in range(seconds):
            plan = policy.plan(desired, await self.observe(desired), self.clock.now())
            await self._apply(plan)
            await self.clock.advance(1)

    async def _apply(self, plan: Plan) -> None:
        for action in plan.actions:
            if isinstance(action, RecordEvent):
                continue  # the status reports the same
            await self.actions.apply(action)  # type: ignore[arg-type]


def parts(
    folder: Path,
    runtime: Runtime,
    registry: Registry,
    credentials: PullCredentials | None = None,
) -> NodeParts:
    return NodeParts(
        runtime=NodeRuntime(cri=runtime, pins=runtime),  # type: ignore[arg-type]
        registry=registry,  # type: ignore[arg-type]
        credentials=credentials or Anonymous(),
        disk=LargeDisk(),
        kubelet=FixedLimits(KubeletLimits()),
        platform_of=lambda handler: Platform(os="linux", architecture="amd64"),
        state=LocalStateDirectory(folder),
    )


@contextlib.asynccontextmanager
async def opened(
    folder: Path,
    runtime: Runtime | None = None,
    *,
    gates: str = "",
    credentials: PullCredentials | None = None,
) -> AsyncIterator[Node]:
    clock, registry = VirtualClock(), Registry()
    runtime = runtime or Runtime()
    async with open_tools(
        parts(folder, runtime, registry, credentials),
        clock,
        gates=parse_gates(gates),
        metrics=PinMetrics(CollectorRegistry()),
        changed=lambda: None,
    ) as tools:
        yield Node(tools=tools, runtime=runtime, registry=registry, clock=clock)
