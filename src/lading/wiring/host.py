"""The machine that this process runs on, as a node: runtime, registries, disk and kubelet.

The agent works on it for a cluster. `preview` and `synchronize` work on it without one.
"""

import asyncio
import platform
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
import msgspec
import structlog
from prometheus_client import CollectorRegistry

from lading.adapters.cri import pins_crio
from lading.adapters.cri.client import CriClient
from lading.adapters.cri.crio_config import CrioConfig
from lading.adapters.cri.pins_containerd import ContainerdPins
from lading.adapters.cri.pins_crio import CrioPins
from lading.adapters.disk import MachineDisk
from lading.adapters.kube.connection import Connection
from lading.adapters.kube.credentials import Credentials
from lading.adapters.kubelet import FixedLimits, LoopbackKubelet
from lading.adapters.kubelet_identity import KubeletTrust
from lading.adapters.state_files import LocalStateDirectory
from lading.kernel.feature_gates import Gates
from lading.kernel.images import ImageKey
from lading.kernel.platforms import Platform, normalised
from lading.kernel.values import replace
from lading.pinned_images.node import host as one_node
from lading.pinned_images.node import observe as pinned_images
from lading.pinned_images.node import preview as previews
from lading.pinned_images.node.host import PinsOfSets
from lading.pinned_images.node.metrics import PinMetrics
from lading.pinned_images.node.observe import NodeTools
from lading.pinned_images.node.preview import Preview
from lading.pinned_images.node.types import Desired
from lading.pinned_images.types import Progress
from lading.ports.clock import Clock
from lading.ports.cri import ImageSpec, Pins
from lading.ports.node import KUBELET_PORT, Kubelet, KubeletLimits, NodeParts, NodeRuntime
from lading.runtime_images import handlers, images
from lading.runtime_images.state import ImageStateFile
from lading.runtime_images.types import DigestPull
from lading.wire import calls
from lading.wiring import machine, planned_images
from lading.wiring.registries import AUTH_FILES_ONLY, CredentialSettings, open_registries

log = structlog.get_logger(__name__)

CRIO = "cri-o"
CRIO_MAIN_FILE = Path("etc/crio/crio.conf")
CRIO_DROP_IN_FOLDER = Path("etc/crio/crio.conf.d")


class Host(msgspec.Struct, frozen=True, kw_only=True):
    runtime_endpoint: str
    state_dir: Path
    root: Path = Path("/")
    """Where the host is mounted: a folder in a DaemonSet, `/` on the host itself."""
    kubelet_port: int = KUBELET_PORT
    kubelet_ca_file: Path | None = None
    """The CA of the kubelet's serving certificate; None means the CA of the cluster."""
    node_name: str = ""
    credentials: CredentialSettings = AUTH_FILES_ONLY


@asynccontextmanager
async def open_host(
    host: Host, clock: Clock, *, connection: Connection | None = None
) -> AsyncIterator[NodeParts]:
    """Asks the kubelet for its limits with the credentials of the connection to the API server.

    Without a connection, the kubelet's defaults apply, so that the disk does not fill up.
    """
    async with AsyncExitStack() as stack:
        runtime = await stack.enter_async_context(
            open_runtime(host.runtime_endpoint, clock, host_root=host.root)
        )
        registries = await stack.enter_async_context(
            open_registries(clock, host_root=host.root, settings=host.credentials)
        )
        kubelet: Kubelet = FixedLimits(KubeletLimits())
        if connection is not None:
            kubelet = LoopbackKubelet(
                await stack.enter_async_context(aiohttp.ClientSession()),
                clock,
                port=host.kubelet_port,
                credentials=Credentials(connection.user, clock),
                trust=_kubelet_trust(host, connection),
            )
        yield NodeParts(
            runtime=runtime,
            registry=registries.client,
            credentials=registries.credentials,
            disk=MachineDisk(host.root),
            kubelet=kubelet,
            platform_of=_platform_of(host.root),
            state=LocalStateDirectory(host.state_dir),
        )


def _kubelet_trust(host: Host, connection: Connection) -> KubeletTrust:
    file = host.kubelet_ca_file
    authority = file.read_text(encoding="utf-8") if file else connection.trust.authority_pem
    return KubeletTrust(node_name=host.node_name, authority_pem=authority)


def machine_platform() -> Platform:
    return normalised(Platform(os=platform.system().lower(), architecture=platform.machine()))


def _platform_of(root: Path) -> Callable[[str], Platform]:
    own = machine_platform()
    known = machine.guest_platforms(machine.files_of(root))
    return lambda handler: known.get(handler, own)


@asynccontextmanager
async def open_runtime(
    endpoint: str, clock: Clock, *, host_root: Path = Path("/")
) -> AsyncIterator[NodeRuntime]:
    """The runtime's own name selects the pin driver. The host is mounted at `host_root`."""
    async with calls.channel_to(endpoint) as channel:
        runtime = CriClient(channel)
        version = await runtime.version()
        pins: Pins = ContainerdPins(channel, runtime, clock)
        if version.name == CRIO:
            pins = CrioPins(
                runtime,
                config=CrioConfig(
                    main_file=host_root / CRIO_MAIN_FILE,
                    drop_in_folder=host_root / CRIO_DROP_IN_FOLDER,
                ),
                reload=pins_crio.by_signal(endpoint),
                clock=clock,
            )
        yield NodeRuntime(cri=runtime, pins=pins)


class DigestPullRecorder:
    """Records the images that an agent pulls by digest for a runtime handler.

    `lading image` reads the record: without it, it would list such an image as one of the host, and
    a clean-up after the feature gate would not remove it. A failed write does not fail the pull.
    """

    def __init__(self, state: ImageStateFile, platform_of: Callable[[str], Platform]) -> None:
        self._state = state
        self._platform_of = platform_of

    async def record(self, key: ImageKey, spec: ImageSpec) -> None:
        """Ignores pulls for the host, and pulls that named the handler."""
        if not key.runtime_handler or spec.runtime_handler:
            return
        pull = DigestPull(
            reference=key.image,
            runtime_handler=key.runtime_handler,
            platform=str(self._platform_of(key.runtime_handler)),
            pulled=spec.image,
        )
        try:
            await self._state.save_digest_pull(pull)
        except OSError as error:
            log.warning("pull by digest not recorded", image=str(key), error=str(error))


def gated(parts: NodeParts, gates: Gates) -> NodeParts:
    """The node, with runtime handlers hidden if their gate is off."""
    runtime = replace(parts.runtime, cri=handlers.gated(parts.runtime.cri, gates))
    return replace(parts, runtime=runtime)


async def handlers_honoured(node: NodeParts, gates: Gates) -> bool:
    return handlers.gate_is_on(gates) and await handlers.are_honoured(node.runtime.cri)


def images_kept_while_gate_is_off(
    parts: NodeParts, gates: Gates
) -> Callable[[], Awaitable[frozenset[str]]]:
    """Uses the ungated runtime: with the gate off, the features do not see its handlers."""
    state = ImageStateFile(parts.image_state)

    async def found() -> frozenset[str]:
        if handlers.gate_is_on(gates):
            return frozenset()
        digest_pulls = (await state.load()).digest_pulls
        return images.ids_for_classes_only(await parts.runtime.cri.images(), digest_pulls)

    return found


def pull_recorder(node: NodeParts) -> DigestPullRecorder:
    return DigestPullRecorder(ImageStateFile(node.image_state), node.platform_of)


@asynccontextmanager
async def open_tools(
    parts: NodeParts,
    clock: Clock,
    *,
    gates: Gates,
    metrics: PinMetrics,
    changed: Callable[[], None],
) -> AsyncIterator[NodeTools]:
    """Opens the tools of an agent, for a command without an agent."""
    node = gated(parts, gates)
    async with pinned_images.open_tools(
        node,
        clock,
        handlers_honoured=await handlers_honoured(node, gates),
        images_kept_while_gate_is_off=images_kept_while_gate_is_off(parts, gates),
        pulled=pull_recorder(node).record,
        metrics=metrics,
        changed=changed,
    ) as tools:
        yield tools


def declared_handlers(host_root: Path, gates: Gates) -> dict[str, str] | None:
    """Runtime class -> handler, from files of the host; None if the gate is off."""
    if not handlers.gate_is_on(gates):
        return None
    names = machine.class_names(machine.files_of(host_root))
    return {name: handler for handler, classes in names.items() for name in classes}


async def preview(parts: NodeParts, desired: Desired, clock: Clock, *, gates: Gates) -> Preview:
    metrics = _unread_metrics()
    async with open_tools(
        parts, clock, gates=gates, metrics=metrics, changed=lambda: None
    ) as tools:
        found = await one_node.preview(tools, desired, clock)
    failures = await planned_images.failures_now(
        parts.registry, clock, found.missing, platform_of=parts.platform_of
    )
    return previews.with_failures(found, failures)


async def synchronize(
    parts: NodeParts,
    desired: Desired,
    clock: Clock,
    *,
    gates: Gates,
    show: Callable[[Progress], None],
) -> Progress:
    """Pulls and pins the desired sets. Other sets of this node keep their pins."""
    changed = asyncio.Event()
    names = frozenset(one.name for one in desired.sets)
    runtime = replace(parts.runtime, pins=PinsOfSets(parts.runtime.pins, names))
    parts = replace(parts, runtime=runtime)
    metrics = _unread_metrics()
    async with open_tools(parts, clock, gates=gates, metrics=metrics, changed=changed.set) as tools:
        return await one_node.synchronize(tools, desired, clock, changed=changed, show=show)


def _unread_metrics() -> PinMetrics:
    """Metrics that nothing serves: the command ends by itself."""
    return PinMetrics(CollectorRegistry())
