"""The promises on random worlds, with calls that fail and a process that ends at any call.

Nothing reachable from a used or unknown reference goes, and an image is whole in its place or whole
in the trash. A world is drawn from its seed alone; `make fuzz` draws other seeds.
"""

import contextlib
import json
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from lading.kernel import manifests
from lading.kernel.digests import Digest
from lading.kernel.references import Reference
from lading.kernel.values import replace
from lading.ports import registry as registries
from lading.ports.registry import Manifest
from lading.pruning.engine.controller import Pruner, PruneResult
from lading.pruning.engine.decisions import edited_plan
from lading.pruning.engine.trash.trash import Trash
from lading.pruning.engine.types import Deletion, Mention, What
from tests.pruning import memory_pruner
from tests.pruning.builders import REGISTRY
from tests.pruning.memory_pruner import TRASH, MemoryFile
from tests.pruning.memory_registry import Crash, MemoryRegistry

SEEDS = st.integers(0, 2**32 - 1)
WORLDS = settings().max_examples * 6 // 10
ATTACHED = ("", ".sig", ".att")


@dataclass
class RandomWorld:
    seed: int
    registry: MemoryRegistry = field(default_factory=MemoryRegistry)
    tagged: list[tuple[str, str, str]] = field(default_factory=list)
    """(repository, tag, digest) as they were in the beginning."""
    mentions: list[Mention] = field(default_factory=list)
    used_by_digest: list[tuple[str, str]] = field(default_factory=list)
    """(repository, digest), with or without a tag."""
    documents: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    """By repository and digest, what was pushed."""
    ledger: MemoryFile = field(default_factory=MemoryFile)

    async def fill(self) -> None:
        draw = random.Random(self.seed)
        self.registry.deletes_tags = draw.random() < 0.6
        self.registry.has_referrers = draw.random() < 0.8
        every: list[Manifest] = []
        for repository in draw.sample(["a", "b/c", "b/d", "team/app"], draw.randint(1, 3)):
            pushed: list[Manifest] = []
            for number in range(draw.randint(1, 6)):
                manifest = await self._manifest(draw, repository, pushed, number)
                pushed.append(manifest)
                for tag in draw.sample(["1", "2", "3", "latest", "x"], draw.choice([0, 1, 1, 2])):
                    await self._tag(repository, tag, manifest)
                if every and draw.random() < 0.1:
                    subject = draw.choice(every).digest
                    attached = f"{subject.algorithm}-{subject.encoded}{draw.choice(ATTACHED)}"
                    await self._tag(repository, attached, manifest)
                every.append(manifest)
        self.documents = {
            name: {one: json.loads(found.content) for one, found in place.manifests.items()}
            for name, place in self.registry.repositories.items()
        }
        self.tagged = [
            (name, tag, digest)
            for name, place in self.registry.repositories.items()
            for tag, digest in place.tags.items()
        ]
        for name, tag, digest in self.tagged:
            text = draw.choice(
                [
                    "",
                    "",
                    "",
                    f"{REGISTRY}/{name}:{tag}",
                    f"mirror.test/{name}:{tag}",
                    f"other.test/x@{digest}",
                    f"{REGISTRY}/{name}:$TAG",
                ]
            )
            if text and draw.random() < 0.4:
                self.mentions.append(Mention(text, "Pod ns/pod"))
        for name, place in self.registry.repositories.items():
            for digest in sorted(place.manifests):
                if draw.random() < 0.1:
                    host = draw.choice([REGISTRY, "mirror.test", "cache.test/proxy"])
                    self.mentions.append(Mention(f"{host}/{name}@{digest}", "Pod ns/pod"))
                    self.used_by_digest.append((name, digest))

    async def _manifest(
        self, draw: random.Random, repository: str, pushed: list[Manifest], number: int
    ) -> Manifest:
        place = Reference(registry=REGISTRY, repository=repository)
        if pushed and draw.random() < 0.35:
            children = draw.sample(pushed, draw.randint(1, len(pushed)))
            document: dict[str, object] = {
                "manifests": [self._entry(one.digest) for one in children],
                "annotations": {"n": str(number)},
            }
            if draw.random() < 0.4:
                document["subject"] = self._entry(draw.choice(pushed).digest)
            return await self._push(place, document, manifests.OCI_INDEX)
        layers = [
            await self.registry.push_blob(place, f"layer {draw.randint(0, 4)}".encode())
            for _ in range(draw.randint(0, 3))
        ]
        config = await self.registry.push_blob(place, f"config {draw.randint(0, 9)}".encode())
        document = {
            "config": self._entry(config.digest),
            "layers": [self._entry(one.digest) for one in layers],
            "annotations": {"n": str(draw.randint(0, 9))},
        }
        if pushed and draw.random() < 0.3:
            document["subject"] = self._entry(draw.choice(pushed).digest)
        return await self._push(place, document, manifests.OCI_MANIFEST)

    @staticmethod
    def _entry(digest: Digest) -> dict[str, object]:
        return {"digest": str(digest), "size": 10, "mediaType": ""}

    async def _push(
        self, place: Reference, document: dict[str, object], media_type: str
    ) -> Manifest:
        content = json.dumps(document).encode()
        manifest = Manifest(media_type=media_type, digest=Digest.of(content), content=content)
        await self.registry.push_manifest(place.at(manifest.digest), manifest)
        return manifest

    async def _tag(self, repository: str, tag: str, manifest: Manifest) -> None:
        place = Reference(registry=REGISTRY, repository=repository, tag=tag)
        await self.registry.push_manifest(place, manifest)

    def pruner(self) -> Pruner:
        return memory_pruner.pruner(self.registry, mentions=self.mentions, ledger=self.ledger)

    async def run(self) -> PruneResult:
        return await self.pruner().apply()

    def protected(self) -> list[tuple[str, str, str]]:
        """What some mention uses, worked out without the code under test."""
        found = []
        for name, tag, digest in self.tagged:
            for mention in self.mentions:
                text = mention.text
                if text.endswith((f"/{name}:{tag}", f"@{digest}")) or f"/{name}:$" in text:
                    found.append((name, tag, digest))
        return found

    def reached(
        self, roots: Iterable[tuple[str, str]], *, attached: bool | None = None
    ) -> set[tuple[str, str]]:
        """(repository, digest) of what these need and of what is attached to it.

        Where the registry does not list referrers, those without a tag cannot be found.
        """
        attached = self.registry.has_referrers if attached is None else attached
        found: set[tuple[str, str]] = set()
        pending = list(roots)
        while pending:
            name, digest = pending.pop()
            if (name, digest) in found or digest not in self.documents[name]:
                continue
            found.add((name, digest))
            pending += [(name, one) for one in _held(self.documents[name][digest])]
            if attached:
                pending += [
                    (name, one)
                    for one, document in self.documents[name].items()
                    if _subject(document) == digest
                ]
        return found

    def check_protected(self) -> None:
        for name, tag, digest in self.protected():
            place = self.registry.repositories[name]
            assert place.tags.get(tag) == digest, f"used tag {name}:{tag} is gone"
        roots = {(name, digest) for name, _, digest in self.protected()} | {*self.used_by_digest}
        reached = self.reached(roots)
        assert roots <= reached
        for name, digest in reached:
            assert self.registry.is_whole(name, digest), f"used {name}@{digest} is not whole"
        subjects = {digest for _, digest in reached}
        for name, tag, digest in self.tagged:
            if _subject_of_tag(tag) in subjects:
                place = self.registry.repositories[name]
                assert place.tags.get(tag) == digest, f"{name}:{tag} of something used is gone"

    def check_nothing_is_left_over(self) -> None:
        """What could be found and is no longer needed is gone, whether it has a tag or not."""
        places = {
            name: place
            for name, place in self.registry.repositories.items()
            if not TRASH.is_trash(name)
        }
        used = {mention.text.rpartition("@")[2] for mention in self.mentions}
        tagged = {(name, digest) for name, _, digest in self.tagged} | {*self.used_by_digest}
        known = self.reached(tagged)
        roots = {(name, one) for name, place in places.items() for one in place.tags.values()}
        roots |= {(name, digest) for name, digest in known if self._holds(name, digest, used)}
        in_place = {(name, digest) for name, place in places.items() for digest in place.manifests}
        needed = self.reached(roots, attached=True)
        assert in_place & known <= needed, "a manifest is left over"

    def _holds(self, name: str, digest: str, used: set[str]) -> bool:
        document = self.documents[name][digest]
        return (
            digest in used
            or not used.isdisjoint(_blobs(document))
            or any(self._holds(name, one, used) for one in _held(document))
        )

    async def check_whole_somewhere(self) -> None:
        records = await Trash(self.registry, TRASH).records([TRASH.repository])
        for name, digest in sorted(self.reached((name, one) for name, _, one in self.tagged)):
            in_trash = any(
                record.repository == name
                and record.uses(digest)
                and self.registry.is_whole(TRASH.repository, digest)
                for _, record in records
            )
            in_place = self.registry.is_whole(name, digest)
            assert in_place or in_trash, f"{name}@{digest} is neither whole here nor in the trash"


def _held(document: dict[str, Any]) -> list[str]:
    return [entry["digest"] for entry in document.get("manifests", ())]


def _blobs(document: dict[str, Any]) -> set[str]:
    entries = [document["config"]] if "config" in document else []
    return {entry["digest"] for entry in (*entries, *document.get("layers", ()))}


def _subject(document: dict[str, Any]) -> str:
    return str(document.get("subject", {}).get("digest", ""))


def _subject_of_tag(tag: str) -> str:
    return tag.partition(".")[0].replace("-", ":") if tag.startswith("sha256-") else ""


async def filled(seed: int) -> RandomWorld:
    world = RandomWorld(seed)
    await world.fill()
    return world


@settings(max_examples=WORLDS)
@given(seed=SEEDS)
async def test_what_is_used_stays_and_all_is_whole_somewhere(seed: int) -> None:
    world = await filled(seed)
    applied = await world.run()
    world.check_protected()
    await world.check_whole_somewhere()
    used = {(name, tag) for name, tag, _ in world.protected()}
    if world.registry.deletes_tags:
        left = {
            (name, tag)
            for name, place in world.registry.repositories.items()
            if not TRASH.is_trash(name)
            for tag in place.tags
        }
        kept = {key for key, one in applied.plan.tag_verdicts.items() if one.decision == "keep"}
        assert left == kept, "what the plan deletes is gone"
        assert used <= left
        world.check_nothing_is_left_over()
    await world.run()
    world.check_protected()
    await world.check_whole_somewhere()


@settings(max_examples=WORLDS)
@given(seed=SEEDS)
async def test_after_a_crash_at_any_call_the_next_run_finishes_and_nothing_is_lost(
    seed: int,
) -> None:
    draw = random.Random(seed)
    world = await filled(seed)
    first = world.registry.calls
    await world.run()
    total = world.registry.calls - first
    for _ in range(3):
        world = await filled(seed)
        at, after = first + draw.randint(1, max(total, 1)), draw.random() < 0.5
        _interfere(world.registry, at, after, lambda: Crash())
        with contextlib.suppress(Crash, BaseExceptionGroup):
            await world.run()
        _interfere(world.registry, -1, after, lambda: Crash())
        memory_pruner.expire_locks(world.registry)
        world.check_protected()
        await world.check_whole_somewhere()
        await world.run()
        world.check_protected()
        await world.check_whole_somewhere()
        if world.registry.deletes_tags:
            world.check_nothing_is_left_over()


@settings(max_examples=WORLDS)
@given(seed=SEEDS)
async def test_when_every_fifth_call_fails_nothing_is_lost(seed: int) -> None:
    world = await filled(seed)

    def fail(number: int, _method: str) -> None:
        if number % 5 == seed % 5 and number > begin:
            raise registries.Unavailable("503", status=503)

    begin = world.registry.calls + await _calls_of_an_observation(seed)
    if seed % 2:
        world.registry.before_call = fail
    else:
        world.registry.after_call = fail
    with contextlib.suppress(registries.RegistryError, BaseExceptionGroup):
        await world.run()
    world.registry.before_call = world.registry.after_call = lambda _number, _method: None
    world.check_protected()
    await world.check_whole_somewhere()


@settings(max_examples=WORLDS)
@given(seed=SEEDS)
async def test_everything_in_the_trash_can_be_restored(seed: int) -> None:
    world = await filled(seed)
    await world.run()
    trash = Trash(world.registry, TRASH)
    for place, record in await trash.records([TRASH.repository]):
        assert await trash.restore(place, record) == ()
    for name, tag, digest in world.tagged:
        assert world.registry.repositories[name].tags.get(tag) == digest
    for name, digest in world.reached((name, one) for name, _, one in world.tagged):
        assert world.registry.is_whole(name, digest)


@settings(max_examples=WORLDS)
@given(seed=SEEDS)
async def test_a_whole_plan_breaks_nothing_that_stays(seed: int) -> None:
    """So a run may take a plan from which no line was removed as it is."""
    world = await filled(seed)
    pruner = world.pruner()
    observed = await pruner.observe()
    plan = pruner.plan(observed)
    other = Deletion(what=What.TAG, repository="elsewhere", tag="any")
    larger = replace(plan, deletions=(*plan.deletions, other))
    lines = edited_plan.consistent(plan.deletions, larger, observed.inventory)
    assert lines == plan.deletions


async def test_planning_only_reads() -> None:
    world = await filled(1)
    world.registry.methods.clear()
    await world.pruner().observe()
    assert set(world.registry.methods) <= {"GET", "HEAD"}


async def _calls_of_an_observation(seed: int) -> int:
    world = await filled(seed)
    before = world.registry.calls
    await world.pruner().observe()
    return world.registry.calls - before


def _interfere(
    registry: MemoryRegistry, at: int, after: bool, error: Callable[[], BaseException]
) -> None:
    def strike(number: int, _method: str) -> None:
        if number == at:
            raise error()

    nothing = lambda _number, _method: None  # noqa: E731
    registry.before_call = nothing if after else strike
    registry.after_call = strike if after else nothing
