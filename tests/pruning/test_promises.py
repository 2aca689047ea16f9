"""The promises on random worlds, with calls that fail and a process that ends at any call.

Nothing reachable from a used or unknown reference goes, and an image is whole in its place or whole
in the trash. A world is drawn from its seed alone; `make fuzz` draws other seeds.
"""

import contextlib
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from lading.kernel import manifests
from lading.kernel.digests import Digest
from lading.kernel.references import Reference
from lading.ports import registry as registries
from lading.ports.registry import Manifest
from lading.pruning.engine import ledger, names, observe_registry
from lading.pruning.engine import plan as planning
from lading.pruning.engine.apply import Applying
from lading.pruning.engine.canary import KeptTag
from lading.pruning.engine.manifest_table import ManifestTable
from lading.pruning.engine.observe_registry import Scope
from lading.pruning.engine.progress import PruneProgress
from lading.pruning.engine.trash import Trash, TrashSettings
from lading.pruning.engine.types import Inventory, Mention, PrunePlan, References, Settings
from lading.pruning.engine.watch import NewReferences
from tests.pruning.builders import NAMES, NOW, REGISTRY
from tests.pruning.memory_registry import Crash, MemoryRegistry
from tests.pruning.registry_worlds import GO

SEEDS = st.integers(0, 2**32 - 1)
WORLDS = settings().max_examples * 6 // 10
TRASH = TrashSettings(registry=REGISTRY)


@dataclass
class RandomWorld:
    seed: int
    registry: MemoryRegistry = field(default_factory=MemoryRegistry)
    tagged: list[tuple[str, str, str]] = field(default_factory=list)
    """(repository, tag, digest) as they were in the beginning."""
    mentions: list[Mention] = field(default_factory=list)
    used_by_digest: list[tuple[str, str]] = field(default_factory=list)
    """(repository, digest), with or without a tag."""

    async def fill(self) -> None:
        draw = random.Random(self.seed)
        self.registry.deletes_tags = draw.random() < 0.6
        for repository in draw.sample(["a", "b/c", "b/d", "team/app"], draw.randint(1, 3)):
            pushed: list[Manifest] = []
            for number in range(draw.randint(1, 6)):
                manifest = await self._manifest(draw, repository, pushed, number)
                pushed.append(manifest)
                for tag in draw.sample(["1", "2", "3", "latest", "x"], draw.choice([0, 1, 1, 2])):
                    await self._tag(repository, tag, manifest)
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

    async def inventory(self) -> Inventory:
        scope = Scope(registry=REGISTRY, leave_out=TRASH.is_trash)
        return await observe_registry.inventory(
            self.registry,
            scope,
            known=ManifestTable(),
            remembered=ledger.EMPTY,
            used=self.references().images,
        )

    def references(self) -> References:
        return names.gather(self.mentions, NAMES)

    def plan(self, inventory: Inventory) -> PrunePlan:
        all_ages = Settings(keep_younger_than=timedelta(0))
        return planning.plan(inventory, self.references(), all_ages, NOW, policy=GO)

    async def apply(self, inventory: Inventory, plan: PrunePlan) -> None:
        kept = [
            KeptTag(repository=name, tag=tag, digest="")
            for (name, tag), verdict in plan.tag_verdicts.items()
            if verdict.decision == "keep"
        ]
        applying = Applying(
            self.registry,
            inventory,
            trash=Trash(self.registry, TRASH),
            new=NewReferences(NAMES),
            now=NOW,
            progress=PruneProgress(),
        )
        lines = planning.consistent(plan.deletions, inventory)
        await applying.run(lines, kept, workers=1)

    def protected(self) -> list[tuple[str, str, str]]:
        """What some mention uses, worked out without the code under test."""
        found = []
        for name, tag, digest in self.tagged:
            for mention in self.mentions:
                text = mention.text
                if text.endswith((f"/{name}:{tag}", f"@{digest}")) or f"/{name}:$" in text:
                    found.append((name, tag, digest))
        return found

    def check_protected(self) -> None:
        for name, tag, digest in self.protected():
            place = self.registry.repositories[name]
            assert place.tags.get(tag) == digest, f"used tag {name}:{tag} is gone"
            assert self.registry.is_whole(name, digest), f"used {name}:{tag} is not whole"
        for name, digest in self.used_by_digest:
            assert self.registry.is_whole(name, digest), f"used {name}@{digest} is not whole"

    async def check_whole_somewhere(self) -> None:
        records = await Trash(self.registry, TRASH).records([TRASH.repository])
        for name, tag, digest in self.tagged:
            in_trash = any(
                record.repository == name
                and record.uses(digest)
                and self.registry.is_whole(TRASH.repository, digest)
                for _, record in records
            )
            in_place = self.registry.is_whole(name, digest)
            assert in_place or in_trash, f"{name}:{tag} is neither whole here nor in the trash"


async def prepared(seed: int) -> tuple[RandomWorld, Inventory, PrunePlan]:
    world = RandomWorld(seed)
    await world.fill()
    inventory = await world.inventory()
    return world, inventory, world.plan(inventory)


@settings(max_examples=WORLDS)
@given(seed=SEEDS)
async def test_what_is_used_stays_and_all_is_whole_somewhere(seed: int) -> None:
    world, inventory, plan = await prepared(seed)
    await world.apply(inventory, plan)
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
        kept = {key for key, one in plan.tag_verdicts.items() if one.decision == "keep"}
        assert left == kept, "what the plan deletes is gone"
        assert used <= left


@settings(max_examples=WORLDS)
@given(seed=SEEDS)
async def test_after_a_crash_at_any_call_and_another_run_nothing_is_lost(seed: int) -> None:
    world, inventory, plan = await prepared(seed)
    draw = random.Random(seed)
    first = world.registry.calls
    total = await _calls_of_a_run(seed)
    for _ in range(3):
        world, inventory, plan = await prepared(seed)
        at, after = first + draw.randint(1, max(total, 1)), draw.random() < 0.5
        _interfere(world.registry, at, after, lambda: Crash())
        with contextlib.suppress(Crash, BaseExceptionGroup):
            await world.apply(inventory, plan)
        _interfere(world.registry, -1, after, lambda: Crash())
        world.check_protected()
        await world.check_whole_somewhere()
        again = await world.inventory()
        await world.apply(again, world.plan(again))
        world.check_protected()
        await world.check_whole_somewhere()


@settings(max_examples=WORLDS)
@given(seed=SEEDS)
async def test_when_every_fifth_call_fails_nothing_is_lost(seed: int) -> None:
    world, inventory, plan = await prepared(seed)

    def fail(number: int, _method: str) -> None:
        if number % 5 == seed % 5:
            raise registries.Unavailable("503", status=503)

    if seed % 2:
        world.registry.before_call = fail
    else:
        world.registry.after_call = fail
    with contextlib.suppress(registries.RegistryError, BaseExceptionGroup):
        await world.apply(inventory, plan)
    world.registry.before_call = world.registry.after_call = lambda _number, _method: None
    world.check_protected()
    await world.check_whole_somewhere()


@settings(max_examples=WORLDS)
@given(seed=SEEDS)
async def test_everything_in_the_trash_can_be_restored(seed: int) -> None:
    world, inventory, plan = await prepared(seed)
    await world.apply(inventory, plan)
    trash = Trash(world.registry, TRASH)
    for place, record in await trash.records([TRASH.repository]):
        assert await trash.restore(place, record) == ()
    for name, tag, digest in world.tagged:
        assert world.registry.repositories[name].tags.get(tag) == digest
        assert world.registry.is_whole(name, digest)


async def test_planning_only_reads() -> None:
    world, _, _ = await prepared(1)
    world.registry.methods.clear()
    world.plan(await world.inventory())
    assert set(world.registry.methods) <= {"GET", "HEAD"}


async def _calls_of_a_run(seed: int) -> int:
    world, inventory, plan = await prepared(seed)
    before = world.registry.calls
    await world.apply(inventory, plan)
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
