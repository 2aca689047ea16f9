"""Details that the page requests when a user opens them: too large to send to every page."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar

import msgspec

from lading.api.core import RUNTIME_CLASSES
from lading.api.longhorn import IMAGES
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.kernel.errors import UNREADABLE, Malformed
from lading.kernel.objects import Key
from lading.pinned_images.rows import Row
from lading.ports.clock import Clock
from lading.runtime_images.report import CollectionReport
from lading.web.dashboard import Dashboard
from lading.web.following import SHOWN_NODES, ShownNode
from lading.web.pruning_plan import PlanQuery
from lading.web.views import collection, pins, prepull, pruning
from lading.web.views.pins import PlannedSets

FRESH = timedelta(seconds=1)
KEPT_MAX = 100

K = TypeVar("K")
V = TypeVar("V")


class Agents(Protocol):
    async def rows(self, found: Iterable[Row]) -> list[Row]:
        """Adds the progress of agents to the rows of unfinished nodes."""

    async def collection(self, node: str) -> CollectionReport | None:
        """What garbage collection would remove on the node; None without an answer."""


class LiveFigures:
    def __init__(self, agents: Agents | None, clock: Clock) -> None:
        self._agents = agents
        self._clock = clock
        self._rows: dict[Row, tuple[datetime, Row]] = {}
        self._collections: dict[str, tuple[datetime, CollectionReport | None]] = {}
        self._asking = asyncio.Lock()
        self._asking_collections = asyncio.Lock()

    async def rows(self, found: Sequence[Row]) -> list[Row]:
        if self._agents is None:
            return list(found)
        async with self._asking:
            now = self._clock.now()
            self._rows = _fresh(self._rows, now)
            unknown = [row for row in found if row not in self._rows][:KEPT_MAX]
            answers = await self._agents.rows(unknown) if unknown else []
            self._rows |= {row: (now, answer) for row, answer in zip(unknown, answers, strict=True)}
        return [self._rows[row][1] if row in self._rows else row for row in found]

    async def collection(self, node: str) -> CollectionReport | None:
        if self._agents is None:
            return None
        async with self._asking_collections:
            self._collections = _fresh(self._collections, self._clock.now())
            if node not in self._collections:
                answer = await self._agents.collection(node)
                self._collections[node] = self._clock.now(), answer
            return self._collections[node][1]


def _fresh(known: dict[K, tuple[datetime, V]], now: datetime) -> dict[K, tuple[datetime, V]]:
    return {key: one for key, one in known.items() if timedelta(0) <= now - one[0] < FRESH}


_NUMBER_CHARACTERS_MAX = 9


class NotThere(Exception):
    """The message is a sentence for the user."""


class NotPlanned(Exception):
    """Why sets in files cannot be planned, one sentence on each line."""


class SetPlanner(Protocol):
    """Plans sets that are not applied, and changes nothing; raises NotPlanned."""

    async def of_files(self) -> PlannedSets | None:
        """The files of the command line; None without any."""

    async def of_texts(self, texts: Mapping[str, str]) -> PlannedSets:
        """The texts of files by name, as they were dropped on the page."""


class DroppedFiles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    files: dict[str, str]


_dropped = msgspec.json.Decoder(DroppedFiles)


class Details:
    def __init__(
        self,
        dashboard: Dashboard,
        planner: SetPlanner | None = None,
        agents: Agents | None = None,
    ) -> None:
        self._dashboard = dashboard
        self._figures = LiveFigures(agents, dashboard.clock)
        self._planner = planner
        self._planning = asyncio.Lock()
        self._following = dashboard.following

    async def cell(self, given: dict[str, str]) -> dict[str, Any]:
        node, name = given.get("node", ""), given.get("set", "")
        row = next((one for one in self._dashboard.pins.rows_of(node) if one.set == name), None)
        if row is None:
            raise NotThere(f"Set {name} is not for node {node}.")
        [row] = await self._figures.rows([row])
        report = self._following.one(MACHINE_CONFIG_NODES, Key("", node))
        existing = {one.metadata.name: one for one in self._dashboard.pins.existing}
        return pins.cell_detail(row, report, existing.get(name))

    async def image_set(self, given: dict[str, str]) -> dict[str, Any]:
        name = given.get("name", "")
        for one in self._dashboard.pins.existing:
            if one.metadata.name == name:
                return pins.set_detail(one)
        raise NotThere(f"There is no PinnedImageSet {name}.")

    async def node(self, given: dict[str, str]) -> dict[str, Any]:
        node = self._node(given)
        return pins.node_detail(node, self._pinned_on(node))

    async def collection(self, given: dict[str, str]) -> dict[str, Any]:
        """What garbage collection would remove on the node, from its agent."""
        node = self._node(given)
        report = await self._figures.collection(node.metadata.name)
        classes = self._following.all(RUNTIME_CLASSES)
        return collection.value(report, classes, self._pinned_on(node))

    def _node(self, given: dict[str, str]) -> ShownNode:
        name = given.get("name", "")
        node = self._following.one(SHOWN_NODES, Key("", name))
        if node is None:
            raise NotThere(f"There is no Node {name}.")
        return node

    def _pinned_on(self, node: ShownNode) -> pins.Pinned:
        """The images that the sets keep on the node."""
        own = {row.set for row in self._dashboard.pins.rows_of(node.metadata.name)}
        existing = (one for one in self._dashboard.pins.existing if one.metadata.name in own)
        return pins.sets_by_digest(existing, self._following.all(RUNTIME_CLASSES))

    async def image(self, given: dict[str, str]) -> dict[str, Any]:
        namespace, _, name = given.get("name", "").rpartition("/")
        found = self._following.one(IMAGES, Key(namespace, name))
        if found is None:
            raise NotThere(f"There is no Image {given.get('name', '')}.")
        return prepull.image_detail(found)

    async def pin_plan(self, _given: dict[str, str]) -> dict[str, Any]:
        """Runs one plan at a time, because a plan asks registries and kubelets."""
        async with self._planning:
            return pins.plan_value(await self._planner.of_files() if self._planner else None)

    async def dropped_plan(self, body: bytes) -> dict[str, Any]:
        """Plans files that a user drops on the page. Nothing is stored."""
        if self._planner is None:
            raise NotPlanned("This dashboard cannot plan sets.")
        try:
            dropped = _dropped.decode(body)
        except UNREADABLE as error:
            raise Malformed(what="dropped files", text=body[:64], reason=str(error)) from error
        if not dropped.files or not all(name.strip() for name in dropped.files):
            raise Malformed(what="dropped files", text="", reason="expected files with names")
        async with self._planning:
            return pins.plan_value(await self._planner.of_texts(dropped.files))

    async def plan(self, given: dict[str, str]) -> dict[str, Any]:
        query = PlanQuery(
            repository=given.get("repository", ""),
            search=given.get("search", "").strip().lower(),
            offset=_number(given.get("offset", "0")),
        )
        reader = self._dashboard.plan
        return pruning.page(await reader.lines(query), name=reader.name)

    async def contents(self, given: dict[str, str]) -> dict[str, Any]:
        """All repositories of the plan, or the tags and manifests of one."""
        found = await self._dashboard.plan.contents()
        if found is None or "repository" not in given:
            return pruning.overview(found)
        name = given["repository"]
        value = pruning.repository(found, name)
        if value is None:
            raise NotThere(f"The plan has no repository {name}.")
        return value

    async def why(self, given: dict[str, str]) -> dict[str, Any]:
        reference = given.get("reference", "").strip()
        found = await self._dashboard.plan.contents()
        if found is None:
            raise NotThere("The plan has only deletions. Write it with `prune images --save-plan`.")
        value = await asyncio.to_thread(pruning.explained, found, reference)
        if value is None:
            raise NotThere(f"{reference} is not in the registry of the plan.")
        return value


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > _NUMBER_CHARACTERS_MAX:
        raise Malformed(what="offset", text=text, reason="expected a number")
    return int(text)
