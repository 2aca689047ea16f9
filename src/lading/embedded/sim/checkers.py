"""The promises, checked on the stores of API server and runtimes alone.

No checker asks the code that it checks: what a set wants is read from the stored objects, what a
node has from the records of its runtime. A claim must be true at the moment it is written. A
process sees the world a little late, so a claim also counts as true if it was true a short time
ago and only others have changed the world since then.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from lading.embedded.cri.core import PINNED_LABEL
from lading.embedded.kube.storage.memory import Change, Key
from lading.embedded.sim.world import SimulatedNode, World

GROUP = "machineconfiguration.openshift.io"
SETS = f"pinnedimagesets.{GROUP}"
REPORTS = f"machineconfignodes.{GROUP}"
POOLS = f"machineconfigpools.{GROUP}"
LATE_SECONDS = 60.0
"""A write may be on its way for so long: slow requests, each tried several times."""
CACHE_LATE_SECONDS = 240.0
"""A cache may be so old: a silent watch is given up after 150 s, and tried again with delays."""
QUIET = {SETS, REPORTS, POOLS, "nodes", "pods", "configmaps", "daemonsets.apps"}
"""What is not written in a steady cluster. Leases are, and events expire."""
UNNOTICED_SECONDS = 400.0
"""A node compares itself with its sets every 120 s; it may be paused or cut off meanwhile."""
KNOWN_FAULTS = {
    "an earlier generation is claimed after its pins were taken away": (
        "The agent does not know the images of the generation that it held before the current one. "
        "When a person unpins or removes one of them while the current generation is incomplete, "
        "the status still claims the earlier generation."
    ),
}
"""Faults of the product that the checkers see and pass over, each with its reason."""
ALLOWED_EXITS = ("LeadershipLost", "Unavailable: cannot connect to unix:///", "Unavailable: unix")

Document = dict[str, Any]


class Claim(msgspec.Struct, frozen=True):
    node: str
    uid: str
    generation: int


class Checkers:
    def __init__(self, world: World) -> None:
        self._world = world
        self.found: list[str] = []
        """Broken promises, each with the moment."""
        self.known: list[str] = []
        """Names of `KNOWN_FAULTS` that were seen."""
        self._specs: dict[tuple[str, int], frozenset[str]] = {}
        """The images of each generation of each set, by the set's UID."""
        self._claims: dict[str, frozenset[Claim]] = {}
        self._counts: dict[tuple[str, int], list[tuple[float, int]]] = defaultdict(list)
        """How many nodes claimed a generation of a set, and since when."""
        self.writes = 0
        world.storage.subscribe(self._changed)

    def report(self, promise: str) -> None:
        text = f"{self._world.loop.time():.3f} s: {promise}"
        self.found.append(text)
        self._world.note("broken", promise, "checker")

    # At each write

    def _changed(self, change: Change) -> None:
        resource = change.record.key.resource
        self.writes += resource in QUIET
        if resource not in (SETS, REPORTS):
            return
        document: Document = msgspec.json.decode(change.record.body)
        if resource == REPORTS:
            self._check_report(change, document)
        elif not change.deleted:
            self._check_set(change, document)

    def _check_report(self, change: Change, document: Document) -> None:
        name = change.record.key.name
        claims = frozenset() if change.deleted else frozenset(_claims(name, document))
        before, self._claims[name] = self._claims.get(name, frozenset()), claims
        node = self._world.nodes.get(name)
        if node is not None and _status(change.record.body) != _status_before(change):
            for claim in sorted(claims, key=str):
                self._check_claim(node, claim, LATE_SECONDS)
        for claim in sorted(before ^ claims, key=str):
            key = (claim.uid, claim.generation)
            holders = sum((claim.uid, claim.generation) == (one.uid, one.generation)
                          for own in self._claims.values() for one in own)  # fmt: skip
            self._counts[key].append((self._world.loop.time(), holders))

    def _check_claim(self, node: SimulatedNode, claim: Claim, late_seconds: float) -> None:
        wanted = self._specs.get((claim.uid, claim.generation))
        if wanted is None:
            self.report(f"{node.name} claims a set that never was: {claim}")
            return
        has = pinned(node)
        missing = wanted - has
        lacking = {one for one in missing if not self._was_lost(node, one, late_seconds)}
        if not lacking or self._holds_a_later_generation(claim, has):
            return
        if self._is_earlier(claim) and missing & node.losses.keys():
            self.known.append("an earlier generation is claimed after its pins were taken away")
            return
        self.report(
            f"{node.name} claims to hold generation {claim.generation} of set {claim.uid}, and"
            f" has not pinned {', '.join(sorted(lacking))}"
        )

    def _is_earlier(self, claim: Claim) -> bool:
        return (claim.uid, claim.generation + 1) in self._specs

    def _holds_a_later_generation(self, claim: Claim, has: frozenset[str]) -> bool:
        """The node has just moved on to it, and its next report says so."""
        return any(
            uid == claim.uid and generation > claim.generation and images <= has
            for (uid, generation), images in self._specs.items()
        )

    def _was_lost(self, node: SimulatedNode, image: str, late_seconds: float) -> bool:
        """Others took it away, so shortly ago that the agent could not know."""
        return self._world.loop.time() - node.losses.get(image, -1e9) <= late_seconds

    def _check_set(self, change: Change, document: Document) -> None:
        metadata, status = document["metadata"], document.get("status", {})
        uid, generation = metadata["uid"], metadata["generation"]
        images = frozenset(one["name"] for one in document["spec"]["pinnedImages"])
        self._specs[uid, generation] = images
        if not status or _status(change.record.body) == _status_before(change):
            return
        seen = status.get("observedGeneration", 0)
        ready = status.get("readyNodeCount", 0)
        if seen > generation:
            self.report(
                f"the status of {metadata['name']} is about generation {seen} of the future"
            )
        if ready not in self._counts_lately(uid, seen):
            self.report(
                f"the status of {metadata['name']} counts {ready} ready nodes of generation {seen},"
                f" and lately there were {sorted(self._counts_lately(uid, seen))}"
            )

    def _counts_lately(self, uid: str, generation: int) -> set[int]:
        since = self._world.loop.time() - CACHE_LATE_SECONDS
        history = [(0.0, 0), *self._counts[uid, generation]]
        recent = {count for at, count in history if at >= since}
        return recent | {[count for at, count in history if at < since or at == 0.0][-1]}

    # At any time

    def check_pins(self) -> None:
        """Every pin is on an image that is there, and what is claimed stays pinned."""
        for node in self._world.nodes.values():
            if node.runtime is None:
                continue
            for claim in sorted(self._claims.get(node.name, ()), key=str):
                self._check_claim(node, claim, UNNOTICED_SECONDS)
            names = node.runtime.labelled_names()
            for name, labels in node.runtime._records.labels().items():  # noqa: SLF001
                if name not in names and labels.get(PINNED_LABEL[0]) == PINNED_LABEL[1]:
                    self.report(f"{node.name} has a pin on {name}, which is not there")

    # At the end

    def check_processes(self) -> None:
        for failure in self._world.loop.failures:
            if "Unclosed" not in failure and "never retrieved" not in failure:
                self.report(f"an error that no code handles: {failure}")
        for exit_ in self._world.exits:
            if not any(allowed in exit_ for allowed in ALLOWED_EXITS):
                self.report(f"a process ended: {exit_}")
        for process, metrics in self._world.all_metrics:
            for sample in next(iter(metrics.reconciles.collect())).samples:
                is_total = sample.name.endswith("_total")
                if is_total and sample.labels["outcome"] == "error" and sample.value:
                    controller = sample.labels["controller"]
                    self.report(f"{process}: a reconcile of {controller} failed by a bug")

    def unconverged(self) -> str:
        """What is not as the users want it; empty if everything is."""
        sets = {one["metadata"]["name"]: one for one in self._documents(SETS)}
        for name, node in self._world.nodes.items():
            if missing := self._unconverged_node(node, sets):
                return f"{name}: {missing}"
        for name, one in sets.items():
            wants = [n for n in self._world.nodes if name in self._sets_of(n, sets)]
            status = one.get("status", {})
            if status.get("readyNodeCount", 0) != len(wants):
                return f"set {name}: {status.get('readyNodeCount', 0)} of {len(wants)} are ready"
            if status.get("observedGeneration") != one["metadata"]["generation"]:
                return f"set {name}: its status is of an earlier generation"
        return ""

    def _unconverged_node(self, node: SimulatedNode, sets: Mapping[str, Document]) -> str:
        wanted = self._sets_of(node.name, sets)
        images = {one["name"] for name in wanted for one in sets[name]["spec"]["pinnedImages"]}
        if images != pinned(node):
            more, less = sorted(pinned(node) - images), sorted(images - pinned(node))
            return f"has pins too many {more} and too few {less}"
        claims = {(one.uid, one.generation) for one in self._claims.get(node.name, ())}
        expected = {_identity(sets[name]) for name in wanted}
        return "" if claims == expected else f"claims {sorted(claims)}, expected {sorted(expected)}"

    def _sets_of(self, node: str, sets: Mapping[str, Document]) -> list[str]:
        """By the role of the node: all selectors of the simulation are by role."""
        record = self._world.storage.get(Key("nodes", "", node))
        labels = msgspec.json.decode(record.body)["metadata"]["labels"] if record else {}
        roles = {"worker"} if "node-role.kubernetes.io/infra" not in labels else {"worker", "infra"}
        role_of = {
            name: one["metadata"].get("labels", {}).get(f"{GROUP}/role")
            for name, one in sets.items()
        }
        return sorted(name for name in sets if role_of[name] in roles)

    def _documents(self, resource: str) -> Iterator[Document]:
        storage = self._world.storage
        for record in storage.list(resource, namespace="", at=storage.revision, after=None):
            yield msgspec.json.decode(record.body)


def pinned(node: SimulatedNode) -> frozenset[str]:
    """The images by digest that the runtime of the node has, and keeps."""
    if node.runtime is None:
        return frozenset()
    names = node.runtime.labelled_names()
    kept = {
        image.id
        for image, labels in names.values()
        if labels.get(PINNED_LABEL[0]) == PINNED_LABEL[1]
    }
    return frozenset(name for name, (image, _) in names.items() if "@" in name and image.id in kept)


def _claims(node: str, document: Document) -> Iterator[Claim]:
    for entry in document.get("status", {}).get("pinnedImageSets", ()):
        if entry.get("currentGeneration"):
            yield Claim(node, entry.get("uid", ""), entry["currentGeneration"])


def _identity(document: Document) -> tuple[str, int]:
    return document["metadata"]["uid"], document["metadata"]["generation"]


def _status(body: bytes) -> Any:
    return msgspec.json.decode(body).get("status")


def _status_before(change: Change) -> Any:
    return None if change.previous is None else _status(change.previous.body)
