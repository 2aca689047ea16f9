"""Follows each kind of the dashboard with one watch, and knows which kinds it cannot follow.

No kind must be there. When a request fails, the API server is asked until it answers; while all is
well nothing is asked.
"""

import asyncio
import random
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry

from lading.api.core import RUNTIME_CLASSES, NodeCondition
from lading.api.imageregistry import IMAGE_PRUNERS
from lading.api.longhorn import IMAGES, SETTINGS
from lading.api.machineconfiguration.boot_image_history import MACHINE_SET_BOOT_IMAGE_HISTORIES
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.kernel.objects import Key, Model, Object, Resource
from lading.loop.informer import Informers, OptionalInformer
from lading.observability.metrics import Metrics
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.kube import Kube
from lading.web import reading
from lading.web.reading import KindState, ReadingKube


class ShownNodeImage(Model, frozen=True, kw_only=True):
    names: tuple[str, ...] = ()
    size_bytes: int = 0


class ShownNodeStatus(Model, frozen=True, kw_only=True):
    conditions: tuple[NodeCondition, ...] = ()
    images: tuple[ShownNodeImage, ...] = ()


class ShownNode(Object, frozen=True, kw_only=True):
    """A Node with the images that its kubelet lists."""

    status: ShownNodeStatus = ShownNodeStatus()


SHOWN_NODES = Resource(
    group="", version="v1", kind="Node", plural="nodes", namespaced=False, type=ShownNode
)
FOLLOWED: tuple[Resource[Any], ...] = (
    SHOWN_NODES,
    PINNED_IMAGE_SETS,
    MACHINE_CONFIG_POOLS,
    MACHINE_CONFIG_NODES,
    IMAGES,
    SETTINGS,
    MACHINE_SET_BOOT_IMAGE_HISTORIES,
    IMAGE_PRUNERS,
    RUNTIME_CLASSES,
)


T = TypeVar("T", bound=Object)
PROBE_SECONDS = 2.0
PROBE_SECONDS_MAX = 10.0  # an API server that takes longer does not answer

Changed = Callable[[Resource[Any], Any, Any], None]


class Following:
    def __init__(
        self, client: Kube, clock: Clock, *, changed: Changed, noticed: Callable[[], None]
    ) -> None:
        """`changed` gets each object that changed; `noticed` means another state of a kind."""
        self.states: dict[Resource[Any], KindState] = dict.fromkeys(FOLLOWED, KindState.WAITING)
        self.is_connected = True
        self._client = client
        self._clock = clock
        self._changed = changed
        self._noticed = noticed
        self._kube = ReadingKube(client, self._report)
        self._rng = random.Random()  # noqa: S311 - jitter, not a secret
        self._metrics = Metrics(CollectorRegistry())
        self._informers = Informers(
            kube=self._kube, clock=clock, rng=self._rng, metrics=self._metrics
        )
        self._objects: dict[Resource[Any], dict[Key, Any]] = {one: {} for one in FOLLOWED}
        self._synced: set[Resource[Any]] = set()
        self._in_doubt = asyncio.Event()

    def all(self, resource: Resource[T]) -> Iterable[T]:
        return tuple(self._objects[resource].values())

    def one(self, resource: Resource[T], key: Key) -> T | None:
        return self._objects[resource].get(key)

    async def run(self) -> None:
        """Runs until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._informers.run())
            group.create_task(self._probe())
            for resource in FOLLOWED:
                group.create_task(self._follow(resource))

    async def _follow(self, resource: Resource[Any]) -> None:
        optional: OptionalInformer[Any] = OptionalInformer(
            kube=self._kube,
            clock=self._clock,
            rng=self._rng,
            informers=self._informers,
            resource=resource,
        )
        optional.add_handler(lambda old, new: self._take(resource, old, new))
        await optional.run()
        await self._informers.of(resource).synced.wait()
        self._synced.add(resource)
        self._set_state(resource, KindState.SERVED)

    def _take(self, resource: Resource[Any], old: Any, new: Any) -> None:
        if new is None:
            self._objects[resource].pop(old.key, None)
        else:
            self._objects[resource][new.key] = new
        self._changed(resource, old, new)

    def _report(self, resource: Resource[Any], error: kube.KubeError | None) -> None:
        if isinstance(error, kube.Transient):
            self._in_doubt.set()
        state = reading.state_after(error)
        if state is not None and (state is not KindState.SERVED or resource in self._synced):
            self._set_state(resource, state)

    def _set_state(self, resource: Resource[Any], state: KindState) -> None:
        if self.states[resource] is not state:
            self.states[resource] = state
            self._noticed()

    async def _probe(self) -> None:
        while True:
            await self._in_doubt.wait()
            while not await self._answers():
                self._set_connected(False)
                await self._clock.sleep(PROBE_SECONDS)
            self._in_doubt.clear()
            self._set_connected(True)

    async def _answers(self) -> bool:
        try:
            async with asyncio.timeout(PROBE_SECONDS_MAX):
                await self._client.page(SHOWN_NODES, limit=1)
        except (kube.Transient, TimeoutError):
            return False
        except kube.KubeError:
            return True
        return True

    def _set_connected(self, is_connected: bool) -> None:
        if self.is_connected is not is_connected:
            self.is_connected = is_connected
            self._noticed()
