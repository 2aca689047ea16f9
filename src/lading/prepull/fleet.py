"""The worker nodes and the images that they hold, kept up to date from the caches.

A change in a cache only marks its node. Marked nodes are counted in slices, so that other tasks
get their turn. Many changes of a node close together are counted once.
"""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime

from lading.api.core import DaemonSet, Node, Pod
from lading.kernel.objects import Key
from lading.kernel.planning import earliest
from lading.kernel.values import replace
from lading.loop.informer import Informer
from lading.ports.clock import Clock
from lading.prepull import holder, nodes
from lading.prepull.image_lists import NodeImageLists
from lading.prepull.nodes import ExpectedDaemonSet
from lading.prepull.types import ImageReason, NodeRecord, PrePullSettings, RollOut, Setbacks

NODES_PER_SLICE = 100  # about 10 ms on a slow core, with 20 containers on each


class HolderFleet:
    def __init__(
        self,
        *,
        node_cache: Informer[Node],
        pod_cache: Informer[Pod],
        daemon_set_cache: Informer[DaemonSet],
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
        self._roll_out: RollOut | None = None
        self._deletions: dict[str, Setbacks] = {}
        self._failures: dict[str, Setbacks] = {}
        self._without_obstacle_since: datetime | None = None
        self._marked: set[str] = set()
        self._is_wanted = asyncio.Event()
        self._looking = asyncio.Lock()
        self._listeners: list[Callable[[], None]] = []
        self._by_node = pod_cache.index(lambda pod: (nodes.node_of(pod),))
        node_cache.add_handler(self._node_changed)
        pod_cache.add_handler(self._pod_changed)
        daemon_set_cache.add_handler(self._daemon_set_changed)
        image_lists.listen(self._mark)

    @property
    def records(self) -> Mapping[str, NodeRecord]:
        """Every worker node by name, as of the last `recount`."""
        return self._records

    def listen(self, listener: Callable[[], None]) -> None:
        """Called when a record changed."""
        self._listeners.append(listener)

    def gate_removed(self, uid: str, node: str) -> None:
        """The node pulls from now on, also before the cache shows the pod without its gate."""
        self._expected = replace(self._expected, released=self._expected.released | {uid})
        self._mark(node)

    def pod_deleted(self, node: str) -> None:
        """The next deletion of this node waits longer."""
        self._count_setback(self._deletions, node)

    def _count_setback(self, counts: dict[str, Setbacks], node: str) -> None:
        now, before = self._clock.now(), counts.get(node)
        memory = self._settings.periods.setback_memory
        is_recent = before is not None and now - before.last_at < memory
        count = before.count + 1 if before is not None and is_recent else 1
        counts[node] = Setbacks(count=count, last_at=now)
        self._roll_out = None

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
        self._notice_obstacles()

    def _notice_obstacles(self) -> None:
        since = self._without_obstacle_since
        if self.roll_out().obstacles:
            since = None
        elif since is None:
            since = self._clock.now()
        if since != self._without_obstacle_since:
            self._without_obstacle_since, self._roll_out = since, None

    def roll_out(self) -> RollOut:
        if self._roll_out is None:
            self._roll_out = self._counted()
        return self._roll_out

    def _counted(self) -> RollOut:
        ready = [one for one in self._records.values() if one.is_ready]
        gated = (one.gated for one in ready if one.gated is not None)
        return RollOut(
            node_count=len(self._records),
            pulling_count=sum(one.is_pulling for one in ready),
            gated=tuple(sorted(gated, key=lambda one: one.node)),
            lost=tuple(one.lost for one in ready if one.lost is not None),
            deletions=dict(self._deletions),
            failures=dict(self._failures),
            obstacles={name: one.obstacle for name, one in self._records.items() if one.obstacle},
            without_obstacle_since=self._without_obstacle_since,
            agents_missed_since=earliest(*(one.without_agent_since for one in ready)),
            without_pod_since=earliest(*(one.without_pod_since for one in ready)),
            is_unauthorized=any(
                fault.why is ImageReason.UNAUTHORIZED
                for one in ready
                for fault in one.faults.values()
            ),
        )

    def _look_at_slice(self) -> None:
        changed = False
        for _ in range(min(NODES_PER_SLICE, len(self._marked))):
            changed |= self._look_at(self._marked.pop())
        if changed:
            self._roll_out = None
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

    def _daemon_set_changed(self, old: DaemonSet | None, new: DaemonSet | None) -> None:
        """Another template concerns every node."""
        expected = ExpectedDaemonSet(released=self._expected.released)
        if new is not None and holder.is_ours(new):
            expected = replace(
                expected,
                uid=new.metadata.uid,
                template=new.metadata.annotations.get(holder.TEMPLATE_ANNOTATION, ""),
                containers=holder.containers(new),
            )
        if expected == self._expected:
            return
        if expected.uid != self._expected.uid:
            self._records.clear()
            self._roll_out = None
        self._expected = expected
        self._mark(*(key.name for key in self._nodes.known_keys()))

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        one = new or old
        assert one is not None, "a change has an object"
        if old is None or new is None or _facts(old) != _facts(new):
            self._mark(one.metadata.name)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        if nodes.has_failed(new) and not nodes.has_failed(old):
            assert new is not None
            self._count_setback(self._failures, nodes.node_of(new))
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
        nodes.has_pressure(node),
        node.status.node_info,
    )
