"""The worker nodes and what they hold, from the caches, at the cost of what changed.

A change in a cache only marks its node. Marked nodes are looked at in slices, between which the
event loop gets its turn; many changes of a node close together cost one look.
"""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime

from lading.api.core import Node, Pod
from lading.kernel import planning
from lading.kernel.objects import Key
from lading.kernel.values import replace
from lading.loop.informer import Informer
from lading.ports.clock import Clock
from lading.prepull import nodes
from lading.prepull.image_lists import NodeImageLists
from lading.prepull.nodes import ExpectedDaemonSet
from lading.prepull.types import ImageReason, NodeRecord, PrePullSettings, RollOut

NODES_PER_SLICE = 100  # about 10 ms on a slow core, with 20 containers on each


class HolderFleet:
    def __init__(
        self,
        *,
        node_cache: Informer[Node],
        pod_cache: Informer[Pod],
        image_lists: NodeImageLists,
        settings: PrePullSettings,
        clock: Clock,
    ) -> None:
        self._nodes = node_cache
        self._pods = pod_cache
        self._image_lists = image_lists
        self._settings = settings
        self._clock = clock
        self._expected = ExpectedDaemonSet()
        self._records: dict[str, NodeRecord] = {}
        self._marked: set[str] = set()
        self._is_wanted = asyncio.Event()
        self._looking = asyncio.Lock()
        self._listeners: list[Callable[[], None]] = []
        self._by_node = pod_cache.index(lambda pod: (nodes.node_of(pod),))
        node_cache.add_handler(self._node_changed)
        pod_cache.add_handler(self._pod_changed)
        image_lists.listen(self._mark)

    @property
    def records(self) -> Mapping[str, NodeRecord]:
        """Every worker node by name, as of the last `recount`."""
        return self._records

    def listen(self, listener: Callable[[], None]) -> None:
        """Called when a record changed."""
        self._listeners.append(listener)

    def expect(self, expected: ExpectedDaemonSet) -> None:
        """The DaemonSet as it is now; another template concerns every node."""
        expected = replace(expected, released=self._expected.released)
        if expected == self._expected:
            return
        if expected.uid != self._expected.uid:
            self._records.clear()
        self._expected = expected
        self._mark(*(key.name for key in self._nodes.known_keys()))

    def release(self, uid: str, node: str) -> None:
        """A pod lost its gate; the cache will show it later, and its node pulls from now on."""
        self._expected = replace(self._expected, released=self._expected.released | {uid})
        self._mark(node)

    async def run(self) -> None:
        """Looks at what changes, until cancelled."""
        while True:
            await self._is_wanted.wait()
            self._is_wanted.clear()
            await self.recount()

    async def recount(self) -> None:
        """Looks at the marked nodes; then the records agree with the caches."""
        while self._marked:
            async with self._looking:
                self._look_at_slice()
                if self._marked:
                    await asyncio.sleep(0)

    def roll_out(self) -> RollOut:
        ready = [one for one in self._records.values() if one.is_ready]
        gated = (one.gated for one in ready if one.gated is not None)
        return RollOut(
            node_count=len(self._records),
            pulling_count=sum(one.is_pulling for one in ready),
            gated=tuple(sorted(gated, key=lambda one: one.node)),
            lost=tuple(one.lost for one in ready if one.lost is not None),
            obstacles={name: one.obstacle for name, one in self._records.items() if one.obstacle},
        )

    def agents_missed_since(self) -> datetime | None:
        """Since when a Ready node has a pod that no agent has compared; the first of them."""
        return planning.earliest(
            *(one.without_agent_since for one in self._records.values() if one.is_ready)
        )

    def is_unauthorized(self) -> bool:
        """Whether a registry refuses the credentials of a Ready node."""
        return any(
            fault.why is ImageReason.UNAUTHORIZED
            for one in self._records.values()
            if one.is_ready
            for fault in one.faults.values()
        )

    def lacks_pods(self) -> bool:
        """Whether a Ready node has no pod of the present template."""
        return any(
            one.is_ready and one.without_pod_since is not None for one in self._records.values()
        )

    def without_pod(self) -> bool:
        """Whether a Ready node has lacked such a pod for too long."""
        now = self._clock.now()
        return any(
            one.is_ready
            and one.without_pod_since is not None
            and now - one.without_pod_since >= self._settings.periods.pod_creation_grace
            for one in self._records.values()
        )

    def _look_at_slice(self) -> None:
        changed = False
        for _ in range(min(NODES_PER_SLICE, len(self._marked))):
            changed |= self._look_at(self._marked.pop())
        if changed:
            for listener in self._listeners:
                listener()

    def _look_at(self, name: str) -> bool:
        node, before = self._nodes.get(Key("", name)), self._records.get(name)
        found = None
        if node is not None:
            found = nodes.record(
                node,
                self._by_node.find(name),
                self._expected,
                self._settings,
                previous=before,
                now=self._clock.now(),
                listed=self._image_lists.get(name),
            )
        if found == before:
            return False
        if found is None:
            del self._records[name]
        else:
            self._records[name] = found
        return True

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        one = new or old
        assert one is not None, "a change has an object"
        if old is None or new is None or _facts(old) != _facts(new):
            self._mark(one.metadata.name)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        if new is None and old is not None and old.metadata.uid in self._expected.released:
            left = self._expected.released - {old.metadata.uid}
            self._expected = replace(self._expected, released=left)
        self._mark(*(nodes.node_of(one) for one in (old, new) if one is not None))

    def _mark(self, *names: str) -> None:
        self._marked.update(names)
        self._is_wanted.set()


def _facts(node: Node) -> object:
    """A heartbeat changes none of these."""
    return (
        node.metadata.labels,
        node.metadata.deletion_timestamp,
        node.spec,
        nodes.is_ready(node),
        node.status.node_info,
    )
