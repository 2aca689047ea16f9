"""The view values of nodes and sets. Only changed nodes are computed again.

What a set or a pool says about nodes changes all of them; what it reports changes none.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import Any

from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS, PinnedImageSet
from lading.kernel.objects import Key, Resource
from lading.pinned_images import rows
from lading.pinned_images.membership import Membership
from lading.pinned_images.rows import Row, RowState
from lading.web.following import SHOWN_NODES, Following
from lading.web.hub import Hub
from lading.web.views import pins
from lading.web.views.wording import ShownProblem

NODES_PER_TURN = 10  # with 50 sets each a few milliseconds; then the other tasks get their turn


class PinValues:
    def __init__(self, hub: Hub, following: Following) -> None:
        self.counts: Counter[RowState] = Counter()
        self._hub = hub
        self._following = following
        self._changed_nodes: set[str] = set()
        self._all_changed = True
        self._membership = Membership((), ())
        self._existing: dict[str, PinnedImageSet] = {}
        self._counts_of: dict[str, Counter[RowState]] = {}
        self._sets_of: dict[str, tuple[str, ...]] = {}
        self._reports: Counter[str] = Counter()
        self._problem_rows: dict[str, tuple[Row, ...]] = {}

    def changed(self, resource: Resource[Any], old: Any, new: Any) -> None:
        if resource in (SHOWN_NODES, MACHINE_CONFIG_NODES):
            self._changed_nodes.add((new or old).metadata.name)
        elif resource is MACHINE_CONFIG_POOLS:
            self._all_changed |= old is None or new is None or old.spec != new.spec
        elif resource is PINNED_IMAGE_SETS:
            self._all_changed |= old is None or new is None or _meaning(old) != _meaning(new)

    @property
    def existing(self) -> Iterable[PinnedImageSet]:
        return self._existing.values()

    async def update(self) -> None:
        sets = self._following.all(PINNED_IMAGE_SETS)
        self._existing = rows.by_name(sets)
        if self._all_changed:
            self._all_changed = False
            pools = self._following.all(MACHINE_CONFIG_POOLS)
            self._membership = Membership(pools, sets)
            for resource in (SHOWN_NODES, MACHINE_CONFIG_NODES):
                self._changed_nodes |= {one.metadata.name for one in self._following.all(resource)}
        names, self._changed_nodes = sorted(self._changed_nodes), set()
        for number, name in enumerate(names):
            self._update_node(name)
            if number % NODES_PER_TURN == NODES_PER_TURN - 1:
                await asyncio.sleep(0)
        pools_of = self._pools_by_set()
        values = {
            name: pins.set_value(one, pools_of.get(name, ()))
            for name, one in self._existing.items()
        }
        self._hub.replace("sets", values)

    def rows_of(self, name: str) -> list[Row]:
        node = self._following.one(SHOWN_NODES, Key("", name))
        report = self._following.one(MACHINE_CONFIG_NODES, Key("", name))
        must_hold = rows.expected_of(node, self._membership) if node else ()
        return rows.rows_of_nodes((report,) if report else (), self._existing, must_hold)

    def problems(self) -> list[ShownProblem]:
        found = [row for of_node in self._problem_rows.values() for row in of_node]
        for name, image_set in self._existing.items():
            found += rows.row_of_set(image_set, self._reports[name])
        return pins.problems(found)

    def _update_node(self, name: str) -> None:
        node = self._following.one(SHOWN_NODES, Key("", name))
        report = self._following.one(MACHINE_CONFIG_NODES, Key("", name))
        self._forget(name)
        if node is None and report is None:
            self._hub.drop("nodes", name)
            return
        found = self.rows_of(name)
        self._hub.put("nodes", name, pins.node_value(name, node, found, self._pool_of(name)))
        self._counts_of[name] = pins.count(found)
        self._sets_of[name] = tuple(row.set for row in found)
        self.counts += self._counts_of[name]
        self._reports.update(self._sets_of[name])
        if problems := pins.problem_rows(found):
            self._problem_rows[name] = problems

    def _forget(self, name: str) -> None:
        self.counts -= self._counts_of.pop(name, Counter())
        self._reports.subtract(self._sets_of.pop(name, ()))
        self._problem_rows.pop(name, None)

    def _pool_of(self, name: str) -> str:
        """Empty for a node that is in no pool."""
        report = self._following.one(MACHINE_CONFIG_NODES, Key("", name))
        if report is not None:
            return report.spec.pool.name
        node = self._following.one(SHOWN_NODES, Key("", name))
        pools = self._membership.pools_of(node.metadata.labels) if node else ()
        return pools[0] if pools else ""

    def _pools_by_set(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for pool in self._following.all(MACHINE_CONFIG_POOLS):
            for name in self._membership.sets_named_by(pool.metadata.name):
                found.setdefault(name, []).append(pool.metadata.name)
        return found


def _meaning(image_set: PinnedImageSet) -> tuple[Any, ...]:
    """The fields that decide which nodes hold the set, and its generation."""
    metadata = image_set.metadata
    return (metadata.uid, metadata.generation, metadata.labels, metadata.deletion_timestamp)
