"""Applying a plan to a registry: what goes, what stays, what comes back."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import msgspec
import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.kernel.errors import Malformed
from lading.kernel.manifests import Descriptor
from lading.kernel.references import Reference
from lading.kernel.values import replace
from lading.ports import registry as registries
from lading.ports.http import HttpTransport, Request, Response
from lading.ports.registry import Manifest
from lading.pruning.engine.decisions import policy
from lading.pruning.engine.decisions.guards import Guard, GuardRefused, Limits
from lading.pruning.engine.effects.outcomes import CanaryFailed, CannotDelete, Result
from lading.pruning.engine.effects.run_lock import RunInProgress
from lading.pruning.engine.references.observe import ReferencesIncomplete
from lading.pruning.engine.references.watch import WatchLost
from lading.pruning.engine.trash.registry_file import RegistryFile
from lading.pruning.engine.types import Settings, What
from tests.pruning import memory_pruner, pruned_kinds
from tests.pruning.builders import REGISTRY
from tests.pruning.counted_registry import Counted, entry, keeping
from tests.pruning.worlds import PODS, World

DEEPER_THAN_THE_STACK = 400  # levels; a call of each is three frames of Python's 1,000


def is_copy(reference: Reference) -> bool:
    """Of an image into the trash; the tags of a lock, a record or a ledger begin otherwise."""
    return reference.repository == "lading-trash" and (reference.tag or "")[:1].isdigit()


async def test_an_unused_tag_goes_and_others_stay(world: World) -> None:
    await world.shelf.image("team/app:old")
    await world.shelf.image("team/app:keep")
    used = await world.shelf.image("team/app:used")
    await world.run_pod(f"registry.test/team/app@{used.digest}")
    applied = await world.pruner().apply()
    assert {one.result for one in applied.outcomes} == {Result.DELETED}
    assert await world.shelf.tags("team/app") == {"keep", "used"}
    assert await world.shelf.pullable("team/app:keep")


async def test_what_went_is_whole_in_the_trash_and_comes_back(world: World) -> None:
    arm, amd = await world.shelf.image("a:arm"), await world.shelf.image("a:amd")
    await world.shelf.index("a:old", arm, amd)
    pruner = world.pruner()
    await pruner.apply()
    assert not await world.shelf.tags("a")
    records = await pruner.records()
    assert {tag for _, record in records for tag in record.tags} == {"old", "arm", "amd"}
    for place, record in records:
        for digest in record.manifests:
            assert await world.shelf.pullable(f"{place}@{digest}")
        assert await pruner.restore(place, record) == ()
    assert await world.shelf.tags("a") == {"old", "arm", "amd"}
    assert await world.shelf.pullable("a:old")


async def test_restore_never_moves_a_tag(world: World) -> None:
    await world.shelf.image("a:old")
    pruner = world.pruner()
    await pruner.apply()
    newer = await world.shelf.image("a:old", layers=[b"newer"])
    ((place, record),) = await pruner.records()
    assert await pruner.restore(place, record) == ("old",)
    found = await world.registry.head(world.shelf.at("a:old"))
    assert found is not None
    assert found.digest == newer.digest


async def test_the_next_run_restores_what_is_used_again(world: World) -> None:
    old = await world.shelf.image("a:old")
    await world.pruner().apply()
    await world.run_pod(f"registry.test/a@{old.digest}")
    applied = await world.pruner().apply()
    assert [record.repository for record in applied.restored.records] == ["a"]
    assert await world.shelf.pullable("a:old")


@pytest.mark.parametrize(
    "text", ["mirror.test/proxy/a:old", "registry.test/a:$(TAG)"], ids=["possibly", "unknown"]
)
async def test_the_next_run_restores_what_may_be_used_again(world: World, text: str) -> None:
    await world.shelf.image("a:old")
    await world.pruner().apply()
    await world.run_pod(text)
    await world.pruner().apply()
    assert await world.shelf.pullable("a:old")


async def test_the_next_run_restores_what_runs_by_its_configuration(world: World) -> None:
    """Some runtimes report the digest of the configuration as `imageID`."""
    image = await world.shelf.image("a:old")
    await world.pruner().apply()
    await world.report_image_id(json.loads(image.content)["config"]["digest"])
    await world.pruner().apply()
    assert await world.shelf.pullable("a:old")


async def test_a_run_without_trash_leaves_the_trash_of_others_alone(world: World) -> None:
    old = await world.shelf.image("a:old")
    await world.pruner().apply()
    world.with_trash = False
    assert (await world.pruner().apply()).outcomes == ()
    await world.run_pod(f"registry.test/a@{old.digest}")
    applied = await world.pruner().apply()
    assert [record.repository for record in applied.restored.records] == ["a"]
    assert await world.shelf.pullable("a:old")


async def test_a_tag_that_went_alone_comes_back(world: World) -> None:
    image = await world.shelf.image("a:old")
    await world.registry.push_manifest(world.shelf.at("a:keep"), image)
    pruner = world.pruner()
    await pruner.apply()
    assert await world.shelf.tags("a") == {"keep"}
    ((place, record),) = await pruner.records()
    await pruner.restore(place, record)
    assert await world.shelf.tags("a") == {"keep", "old"}


async def test_a_tag_that_went_alone_comes_back_after_its_image_went_as_well(world: World) -> None:
    arm = await world.shelf.image("a:keep-arm")
    index = await world.shelf.index("a:old", arm)
    await world.registry.push_manifest(world.shelf.at("a:keep"), index)
    await world.pruner().apply()
    ((place, alone),) = await world.pruner().records()
    assert alone.manifests == {}
    world.policy = policy.parse({"policies": [{"repositories": ["a"], "keepTags": []}]})
    await world.pruner().apply()
    assert await world.shelf.tags("a") == set()
    assert await world.pruner().restore(place, alone) == ()
    assert await world.shelf.tags("a") == {"old"}
    assert await world.shelf.pullable("a:old")


async def test_an_index_that_is_nested_too_deeply_is_deleted_and_restored() -> None:
    """As deep as a hostile push makes it: it must not end the run for all others."""
    registry = Counted()
    inner = await registry.push("a", ("old",))
    for level in range(DEEPER_THAN_THE_STACK):
        tags = ("deep",) if level == DEEPER_THAN_THE_STACK - 1 else ()
        inner = await registry.push("a", tags, manifests=[entry(inner)])
    pruner = memory_pruner.pruner(registry)
    applied = await pruner.apply()
    assert {one.result for one in applied.outcomes} == {Result.DELETED}
    for place, record in await pruner.records():
        await pruner.restore(place, record)
    assert set(registry.repositories["a"].tags) == {"old", "deep"}


async def test_the_trash_empties_itself_after_its_period(world: World) -> None:
    await world.shelf.image("a:old")
    pruner = world.pruner()
    await pruner.apply()
    ((place, record),) = await pruner.records()
    trash = world.trash
    assert await trash.expire([(place, record)], record.expires_at - timedelta(seconds=1)) == 0
    assert await trash.expire([(place, record)], record.expires_at) == 1
    assert await world.shelf.tags(place) == set()


async def test_without_trash_it_is_gone(world: World) -> None:
    world.with_trash = False
    await world.shelf.image("a:old")
    await world.pruner().apply()
    assert await world.shelf.tags("lading-trash") == set()
    assert await world.shelf.tags("a") == set()


def let_time_pass(world: World, *, seconds: float) -> None:
    """By the clock of the registry."""
    server_time = world.registry.server_time

    async def later(registry: str) -> datetime | None:
        found = await server_time(registry)
        return found and found + timedelta(seconds=seconds)

    world.registry.server_time = later  # type: ignore[method-assign]


async def test_age_begins_when_a_confirmed_run_first_saw_the_tag(world: World) -> None:
    world.settings = Settings(keep_younger_than=timedelta(seconds=1))
    await world.shelf.image("a:old")
    plan = world.pruner().plan(await world.pruner().observe())
    assert plan.header.kept_for_unknown_push_time == 1
    assert not (world.state / "ledger.json").exists(), "a dry run records nothing"
    await world.pruner().apply()
    assert await world.shelf.tags("a") == {"old"}
    let_time_pass(world, seconds=2)
    await world.pruner().apply()
    assert await world.shelf.tags("a") == set()


async def test_a_tag_that_moved_begins_again(world: World) -> None:
    world.settings = Settings(keep_younger_than=timedelta(seconds=1))
    await world.shelf.image("a:old")
    await world.pruner().apply()
    let_time_pass(world, seconds=2)
    await world.shelf.image("a:old", layers=[b"other"])
    await world.pruner().apply()
    assert await world.shelf.tags("a") == {"old"}


async def test_of_a_plan_file_only_lines_that_still_hold_are_done(world: World) -> None:
    await world.shelf.image("a:one", layers=[b"1"])
    await world.shelf.image("a:two", layers=[b"2"])
    pruner = world.pruner()
    plan = pruner.plan(await pruner.observe())
    await world.run_pod("registry.test/a:one")
    await pruner.apply((plan.header, plan.deletions))
    assert await world.shelf.tags("a") == {"one"}


async def test_a_removed_tag_line_keeps_the_whole_image(world: World) -> None:
    await world.shelf.image("a:one")
    pruner = world.pruner()
    plan = pruner.plan(await pruner.observe())
    left = [line for line in plan.deletions if not line.tag]
    await pruner.apply((plan.header, left))
    assert await world.shelf.pullable("a:one")


async def test_a_removed_index_line_keeps_what_the_index_needs(world: World) -> None:
    child = await world.shelf.image("a:child")
    index = await world.shelf.index("a:index", child)
    pruner = world.pruner()
    plan = pruner.plan(await pruner.observe())
    left = [line for line in plan.deletions if line.digest != str(index.digest)]
    await pruner.apply((plan.header, left))
    assert await world.shelf.pullable("a:index")


async def test_a_plan_of_another_cluster_is_refused(world: World) -> None:
    await world.shelf.image("a:one")
    pruner = world.pruner()
    plan = pruner.plan(await pruner.observe())
    header = replace(plan.header, clusters=("other",))
    with pytest.raises(Malformed, match="the plan is for clusters other"):
        await pruner.apply((header, plan.deletions))
    assert await world.shelf.tags("a") == {"one"}
    assert not (world.state / "ledger.json").exists(), "nothing is recorded"


async def test_a_guard_refuses_and_nothing_goes(world: World) -> None:
    world.limits = Limits(size_bytes_max=1)
    await world.shelf.image("a:one")
    with pytest.raises(GuardRefused, match="--ignore-guard=bytes"):
        await world.pruner().apply()
    assert await world.shelf.tags("a") == {"one"}


async def test_lines_that_were_removed_by_hand_free_no_bytes(world: World) -> None:
    await world.shelf.image("a:large", layers=[b"l" * 100_000])
    await world.shelf.image("a:small", layers=[b"s"])
    world.limits = Limits(size_bytes_max=50_000)
    pruner = world.pruner()
    plan = pruner.plan(await pruner.observe())
    small = next(line.group for line in plan.deletions if line.tag == "small")
    lines = [line for line in plan.deletions if line.group == small]
    await pruner.apply((plan.header, lines))
    assert await world.shelf.tags("a") == {"large"}


async def test_a_refused_run_does_not_let_the_next_one_pass(world: World) -> None:
    """The Job of the schedule tries again after a failure."""
    for number in range(3):
        await world.run_pod("registry.test/b:used", name=f"pod-{number}")
    await world.pruner().apply()
    await world.shelf.image("a:old")
    for number in range(3):
        await world.kube.delete(PODS, f"pod-{number}", namespace="images")
    for _ in range(2):
        with pytest.raises(GuardRefused, match="--ignore-guard=fewer-references"):
            await world.pruner().apply()
    assert await world.shelf.tags("a") == {"old"}
    world.limits = Limits(ignored=frozenset({Guard.FEWER_REFERENCES}))
    await world.pruner().apply()
    assert await world.shelf.tags("a") == set()


async def test_a_run_on_one_repository_forgets_no_age_of_another(world: World) -> None:
    world.settings = Settings(keep_younger_than=timedelta(seconds=1))
    await world.shelf.image("a:old")
    await world.pruner().apply()
    world.repositories = ("b",)
    await world.pruner().apply()
    world.repositories = ()
    let_time_pass(world, seconds=2)
    await world.pruner().apply()
    assert await world.shelf.tags("a") == set()


async def test_a_pod_that_starts_meanwhile_stops_the_deletion(world: World) -> None:
    """1.10h: the references are watched between the list and the deletion."""
    image = await world.shelf.image("a:old")
    original = world.registry.push_manifest

    async def push_then_run(reference: Reference, manifest: Manifest) -> None:
        await original(reference, manifest)
        if is_copy(reference):
            await world.run_pod(f"registry.test/a@{image.digest}")
            await asyncio.sleep(0.3)

    world.registry.push_manifest = push_then_run  # type: ignore[method-assign]
    applied = await world.pruner().apply()
    assert {one.result for one in applied.outcomes} == {Result.NEW_REFERENCE}
    assert await world.shelf.pullable("a:old")


@pytest.mark.parametrize("pushes_before", [1, 10**6], ids=["before", "after"])
async def test_a_pod_that_runs_it_by_its_configuration_keeps_or_restores_it(
    world: World, pushes_before: int
) -> None:
    """Some runtimes report the digest of the configuration as `imageID`."""
    image = await world.shelf.image("a:old")
    config = json.loads(image.content)["config"]["digest"]
    left = pushes_before
    push, delete = world.registry.push_manifest, world.registry.delete

    async def run() -> None:
        await world.report_image_id(config)
        await asyncio.sleep(0.3)

    async def push_then_run(reference: Reference, manifest: Manifest) -> None:
        nonlocal left
        await push(reference, manifest)
        left -= is_copy(reference)
        if left == 0 and is_copy(reference):
            await run()

    async def delete_then_run(reference: Reference) -> bool:
        found = await delete(reference)
        if reference.digest == image.digest and pushes_before > 1:
            await run()
        return found

    world.registry.push_manifest = push_then_run  # type: ignore[method-assign]
    world.registry.delete = delete_then_run  # type: ignore[method-assign]
    applied = await world.pruner().apply()
    expected = Result.NEW_REFERENCE if pushes_before == 1 else Result.RESTORED
    assert expected in {one.result for one in applied.outcomes}
    assert await world.shelf.pullable("a:old")


async def test_a_pod_that_starts_after_the_deletion_restores_it(world: World) -> None:
    image = await world.shelf.image("a:old")
    original = world.registry.delete

    async def delete_then_run(reference: object) -> bool:
        deleted = await original(reference)  # type: ignore[arg-type]
        if reference == world.shelf.at(f"a@{image.digest}"):
            await world.run_pod(f"registry.test/a@{image.digest}")
            await asyncio.sleep(0.3)
        return deleted

    world.registry.delete = delete_then_run  # type: ignore[method-assign]
    applied = await world.pruner().apply()
    assert Result.RESTORED in {one.result for one in applied.outcomes}
    assert await world.shelf.pullable("a:old")


async def test_a_tag_that_moves_meanwhile_stays(world: World) -> None:
    old = await world.shelf.image("a:old")
    original = world.registry.push_manifest

    async def push_then_move(reference: Reference, manifest: Manifest) -> None:
        await original(reference, manifest)
        if is_copy(reference):
            await world.shelf.image("a:old", layers=[b"new"])

    world.registry.push_manifest = push_then_move  # type: ignore[method-assign]
    applied = await world.pruner().apply()
    assert {one.result for one in applied.outcomes} == {Result.CHANGED}
    assert await world.shelf.pullable("a:old")
    assert await world.shelf.pullable(f"a@{old.digest}"), "one of its tags was not deleted"


@pytest.mark.parametrize("result", [Result.CHANGED, Result.NEW_REFERENCE])
async def test_what_changed_before_its_turn_does_not_go_into_the_trash(
    world: World, result: Result
) -> None:
    canary = await world.shelf.image("a:canary", layers=[b"1"])
    await world.shelf.image("b:old", layers=[b"2"])
    original = world.registry.delete

    async def delete_then_change(reference: Reference) -> bool:
        found = await original(reference)
        if reference.digest == canary.digest and result is Result.CHANGED:
            await world.shelf.image("b:old", layers=[b"3"])
        elif reference.digest == canary.digest:
            await world.run_pod("registry.test/b:old")
            await asyncio.sleep(0.3)
        return found

    world.registry.delete = delete_then_change  # type: ignore[method-assign]
    applied = await world.pruner().apply()
    assert {one.result for one in applied.outcomes if one.line.repository == "b"} == {result}
    records = await world.trash.records([world.trash.settings.repository])
    assert [record.repository for _, record in records] == ["a"]


async def test_a_kept_tag_that_moves_right_before_a_deletion_is_reported_and_not_written(
    world: World,
) -> None:
    """No client can tell it from a tag that another client deletes: the image is in the trash."""
    await world.shelf.image("a:canary", layers=[b"canary"])
    old = await world.shelf.image("b:old", layers=[b"old"])
    await world.shelf.image("b:keep", layers=[b"keep"])
    original = world.registry.delete

    async def roll_back_then_delete(reference: Reference) -> bool:
        if reference.digest == old.digest and reference.repository == "b":
            await world.registry.push_manifest(world.shelf.at("b:keep"), old)
        return await original(reference)

    world.registry.delete = roll_back_then_delete  # type: ignore[method-assign]
    applied = await world.pruner().apply()
    results = {one.line.tag: one.result for one in applied.outcomes if one.line.repository == "b"}
    assert results["keep"] is Result.TAG_IS_GONE
    assert await world.shelf.tags("b") == set()
    records = await world.pruner().records()
    assert any(record.uses(str(old.digest)) for _, record in records)


async def test_tags_that_another_client_deletes_meanwhile_do_not_come_back(world: World) -> None:
    """Neither naming the image that they named, nor the one that is deleted at that moment."""
    for number in range(5):
        await world.shelf.image(f"a:pr-{number}", layers=[str(number).encode()])
        await world.shelf.image(f"a:keep-{number}", layers=[f"k{number}".encode()])
    original = world.registry.delete
    deletions = 0

    async def others_delete(reference: Reference) -> bool:
        nonlocal deletions
        found = await original(reference)
        deletions += reference.repository == "a"
        if reference.repository == "a" and deletions > 1:
            await original(world.shelf.at(f"a:keep-{deletions - 1}"))
        return found

    world.registry.delete = others_delete  # type: ignore[method-assign]
    applied = await world.pruner().apply()
    assert await world.shelf.tags("a") == {"keep-0"}
    gone = {one.line.tag for one in applied.outcomes if one.result is Result.TAG_IS_GONE}
    assert gone == {"keep-1", "keep-2", "keep-3", "keep-4"}


async def test_of_two_runs_at_once_one_ends_and_no_tag_is_wrong(world: World) -> None:
    images = {}
    for number in range(5):
        name = f"keep-{number}" if number % 2 else f"old-{number}"
        images[name] = await world.shelf.image(f"a:{name}", layers=[str(number).encode()])
    runs = (world.pruner().apply(), world.pruner().apply())
    results = await asyncio.gather(*runs, return_exceptions=True)
    assert any(isinstance(one, RunInProgress) for one in results)
    for tag in await world.shelf.tags("a"):
        found = await world.registry.head(world.shelf.at(f"a:{tag}"))
        assert found is not None
        assert found.digest == images[tag].digest
    assert {"keep-1", "keep-3"} <= await world.shelf.tags("a")
    await world.pruner().apply()
    assert await world.shelf.tags("a") == {"keep-1", "keep-3"}


async def test_a_run_waits_for_the_lock_of_an_interrupted_run(world: World) -> None:
    await world.shelf.image("a:old")
    interrupted = await world.pruner()._lock()
    await interrupted._claim()
    pruner = world.pruner()

    async def time_passes() -> None:
        let_time_pass(world, seconds=20)

    pruner._clock = clock = BusyClock(time_passes)
    await pruner.apply()
    assert clock.waits_left == 0
    assert await world.shelf.tags("a") == set()
    left = await world.shelf.tags("lading-trash")
    assert not [one for one in left if one.startswith("lock-")]


async def test_a_run_ends_when_another_one_renews_its_lock(world: World) -> None:
    await world.shelf.image("a:old")
    other = await world.pruner()._lock()
    await other._claim()
    pruner = world.pruner()

    async def renewed() -> None:
        let_time_pass(world, seconds=20)
        await other._claim()

    pruner._clock = BusyClock(renewed)
    with pytest.raises(RunInProgress, match=r"another run prunes.*Nothing is deleted"):
        await pruner.apply()
    assert await world.shelf.tags("a") == {"old"}


class BusyClock(SystemClock):
    """Something happens in each of the first waits of a process."""

    def __init__(self, meanwhile: Callable[[], Awaitable[None]]) -> None:
        self._meanwhile = meanwhile
        self.waits_left = 3

    async def sleep(self, seconds: float) -> None:
        if self.waits_left:
            self.waits_left -= 1
            await self._meanwhile()
        else:
            await super().sleep(seconds)


async def test_a_run_that_cannot_renew_its_lock_deletes_nothing_more(world: World) -> None:
    await world.shelf.image("a:old")
    pruner = world.pruner()
    pruner._clock = clock = LateClock()
    original = world.registry.push_manifest

    async def stall(reference: Reference, manifest: Manifest) -> None:
        await original(reference, manifest)
        if is_copy(reference):
            clock.late_seconds = 16 * 60.0

    world.registry.push_manifest = stall  # type: ignore[method-assign]
    with pytest.raises(RunInProgress, match="nothing more is deleted"):
        await pruner.apply()
    assert await world.shelf.pullable("a:old")


class LateClock(SystemClock):
    """A process that slept."""

    late_seconds = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.late_seconds


async def test_a_tag_that_is_pushed_again_after_it_went_stays(world: World) -> None:
    """Its push was answered, so it counts, though the plan deletes this very tag."""
    await world.shelf.image("a:canary", layers=[b"canary"])
    image = await world.shelf.image("b:old")
    delete = world.registry.delete

    async def delete_then_push(reference: Reference) -> bool:
        found = await delete(reference)
        if reference.digest == image.digest and reference.repository == "b":
            await world.registry.push_manifest(world.shelf.at("b:old"), image)
        return found

    world.registry.delete = delete_then_push  # type: ignore[method-assign]
    applied = await world.pruner().apply()
    results = {one.result for one in applied.outcomes if one.line.repository == "b"}
    assert results == {Result.CHANGED}
    assert await world.shelf.pullable("b:old")


@pytest.mark.parametrize("name", ["registry.test/team/a", "mirror.test/a", "cache.test/x/team/a"])
async def test_an_index_in_use_without_a_tag_keeps_what_it_holds(world: World, name: str) -> None:
    """The API of a registry does not list it; only the reference leads to it."""
    shared = await world.shelf.image("team/a:old", layers=[b"1"])
    used = await world.shelf.index("team/a:moving", shared)
    await world.shelf.index("team/a:moving", shared, await world.shelf.image("team/a:2"))
    await world.run_pod(f"{name}@{used.digest}")
    await world.pruner().apply()
    assert await world.shelf.pullable(f"team/a@{used.digest}")
    assert await world.shelf.tags("team/a") == set()


async def test_an_index_that_is_pushed_meanwhile_keeps_what_it_holds(world: World) -> None:
    """Its push was answered, because the registry had the manifest that it holds."""
    held = await world.shelf.image("a:old")
    original = world.registry.push_manifest

    async def push_then_push_index(reference: Reference, manifest: Manifest) -> None:
        await original(reference, manifest)
        if is_copy(reference):
            await world.shelf.index("a:fresh", held)

    world.registry.push_manifest = push_then_push_index  # type: ignore[method-assign]
    applied = await world.pruner().apply()
    results = {one.line.what: (one.result, one.message) for one in applied.outcomes}
    assert results[What.MANIFEST] == (Result.CHANGED, "a:fresh needs it by now")
    assert await world.shelf.tags("a") == {"fresh", "old"}, "an image stays whole"
    assert await world.shelf.pullable("a:fresh")


async def test_a_tag_that_is_pushed_meanwhile_is_asked_for_once_and_at_last(
    world: World,
) -> None:
    """Asked for at each deletion, many pushes would outrun the run."""
    for number in range(5):
        await world.shelf.image(f"a:old-{number}", layers=[str(number).encode()])
    delete, head = world.registry.delete, world.registry.head
    asked: list[Reference] = []

    async def push_then_delete(reference: Reference) -> bool:
        await world.shelf.image("a:fresh", layers=[b"fresh"])
        return await delete(reference)

    async def count_then_head(reference: Reference) -> Descriptor | None:
        asked.append(reference)
        return await head(reference)

    world.registry.delete = push_then_delete  # type: ignore[method-assign]
    world.registry.head = count_then_head  # type: ignore[method-assign]
    await world.pruner().apply()
    assert asked.count(world.shelf.at("a:fresh")) == 2
    assert await world.shelf.tags("a") == {"fresh"}


@pytest.mark.parametrize("tag", ["fresh", "keep", "old"])
async def test_an_index_gets_back_what_it_holds_and_was_deleted_meanwhile(
    world: World, tag: str
) -> None:
    """It is pushed right before the deletion, with a tag that is new, kept or deleted before."""
    await world.shelf.image("a:keep", layers=[b"keep"])
    held = await world.shelf.image("a:old", layers=[b"old"])
    original = world.registry.delete

    async def push_index_then_delete(reference: Reference) -> bool:
        if reference.digest == held.digest:
            await world.shelf.index(f"a:{tag}", held)
        return await original(reference)

    world.registry.delete = push_index_then_delete  # type: ignore[method-assign]
    applied = await world.pruner().apply()
    assert Result.RESTORED in {one.result for one in applied.outcomes}
    assert await world.shelf.pullable(f"a:{tag}")


async def test_the_next_run_restores_what_an_index_in_place_misses(world: World) -> None:
    held = await world.shelf.image("a:old")
    await world.pruner().apply()
    await world.registry.push_manifest(world.shelf.at("a:again"), held)
    await world.shelf.index("a:keep", held)
    await world.registry.delete(world.shelf.at(f"a@{held.digest}"))
    applied = await world.pruner().apply()
    assert [one.tags for one in applied.restored.records] == [{"old": str(held.digest)}]
    assert await world.shelf.pullable("a:keep")
    assert await world.shelf.tags("a") == {"keep"}, "the tag that nothing needs goes again"


@pytest.mark.parametrize("moment", [Result.NEW_REFERENCE, Result.RESTORED])
async def test_a_pod_that_starts_with_an_index_without_a_tag_has_what_it_holds(
    world: World, moment: Result
) -> None:
    held = await world.shelf.image("a:old")
    index = await world.shelf.index("a:moving", held)
    await world.shelf.image("a:moving", layers=[b"2"])
    push, delete = world.registry.push_manifest, world.registry.delete

    async def start(reference: Reference, *, when: Result) -> None:
        if moment is when and not started:
            started.append(reference)
            await world.run_pod(f"registry.test/a@{index.digest}")
            await asyncio.sleep(0.3)

    started: list[Reference] = []

    async def push_then_start(reference: Reference, manifest: Manifest) -> None:
        await push(reference, manifest)
        if is_copy(reference):
            await start(reference, when=Result.NEW_REFERENCE)

    async def delete_then_start(reference: Reference) -> bool:
        found = await delete(reference)
        if reference.digest == held.digest:
            await start(reference, when=Result.RESTORED)
        return found

    world.registry.push_manifest = push_then_start  # type: ignore[method-assign]
    world.registry.delete = delete_then_start  # type: ignore[method-assign]
    applied = await world.pruner().apply()
    assert moment in {one.result for one in applied.outcomes}
    assert await world.shelf.pullable(f"a@{index.digest}")


@pytest.mark.parametrize(
    "error",
    [registries.Unsupported("405", status=405), registries.MalformedAnswer("400", status=400)],
    ids=["405", "400"],
)
async def test_a_registry_that_cannot_delete_tags_keeps_a_shared_one(
    world: World, error: registries.RegistryError
) -> None:
    image = await world.shelf.image("a:old")
    await world.registry.push_manifest(world.shelf.at("a:keep"), image)
    await world.shelf.image("a:whole", layers=[b"whole"])
    original = world.registry.delete

    async def by_digest_only(reference: object) -> bool:
        if getattr(reference, "tag", None):
            raise error
        return await original(reference)  # type: ignore[arg-type]

    world.registry.delete = by_digest_only  # type: ignore[method-assign]
    applied = await world.pruner().apply()
    results = {str(one.line.tag): one.result for one in applied.outcomes if one.line.tag}
    assert results == {"old": Result.CANNOT_UNTAG, "whole": Result.DELETED}
    assert await world.shelf.tags("a") == {"old", "keep"}


async def test_a_registry_that_deletes_nothing_ends_the_run(world: World) -> None:
    """ECR answers 404 to every DELETE."""
    await world.shelf.image("a:old")

    async def not_found(reference: object) -> bool:
        return False

    world.registry.delete = not_found  # type: ignore[method-assign]
    with pytest.raises(CannotDelete, match="still has it"):
        await world.pruner().apply()
    assert await world.shelf.pullable("a:old")


async def test_a_tag_that_is_still_there_after_its_deletion_ends_the_run(world: World) -> None:
    image = await world.shelf.image("a:old")
    await world.registry.push_manifest(world.shelf.at("a:keep"), image)

    async def not_found(reference: object) -> bool:
        return False

    world.registry.delete = not_found  # type: ignore[method-assign]
    with pytest.raises(CannotDelete, match="a:old and still has it"):
        await world.pruner().apply()


async def test_a_registry_that_forbids_deletion_ends_the_run(world: World) -> None:
    await world.shelf.image("a:old")

    async def forbidden(reference: object) -> bool:
        raise registries.Unsupported("405 method not allowed", status=405)

    world.registry.delete = forbidden  # type: ignore[method-assign]
    with pytest.raises(CannotDelete, match="does not delete images"):
        await world.pruner().apply()


async def test_an_image_that_cannot_be_deleted_stops_no_other(world: World) -> None:
    await world.shelf.image("a:old", layers=[b"1"])
    await world.shelf.image("b:old", layers=[b"2"])
    original = world.registry.delete

    async def unavailable(reference: Reference) -> bool:
        if reference.repository == "a":
            raise registries.Unavailable("503", status=503)
        return await original(reference)

    world.registry.delete = unavailable  # type: ignore[method-assign]
    applied = await world.pruner().apply()
    results = {(one.line.repository, one.result) for one in applied.outcomes}
    assert results == {("a", Result.FAILED), ("b", Result.DELETED)}
    assert await world.shelf.pullable("a:old")
    assert await world.shelf.tags("b") == set()


@pytest.mark.parametrize("error", [registries.Unavailable("503"), registries.Denied("403")])
async def test_what_went_before_a_failure_is_reported_as_deleted(
    world: World, error: registries.RegistryError
) -> None:
    child = await world.shelf.image("a:child")
    await world.shelf.index("a:index", child)
    original = world.registry.delete

    async def fails_at_the_second(reference: Reference) -> bool:
        if reference.digest == child.digest:
            raise error
        return await original(reference)

    world.registry.delete = fails_at_the_second  # type: ignore[method-assign]
    applied = await world.pruner().apply()
    failed = Result.REFUSED if isinstance(error, registries.Denied) else Result.FAILED
    results = {one.line.tag: one.result for one in applied.outcomes if one.line.tag}
    assert results == {"index": Result.DELETED, "child": failed}
    assert await world.shelf.tags("a") == {"child"}


async def test_a_registry_that_deletes_no_tagged_manifest_loses_its_tags_first(
    world: World,
) -> None:
    """As Google Artifact Registry."""
    image = await world.shelf.image("a:old")
    await world.shelf.image("a:keep", layers=[b"keep"])
    original = world.registry.delete

    async def tags_first(reference: Reference) -> bool:
        if reference.digest == image.digest and "old" in await world.shelf.tags("a"):
            raise registries.MalformedAnswer("a tag names it", status=400)
        return await original(reference)

    world.registry.delete = tags_first  # type: ignore[method-assign]
    applied = await world.pruner().apply()
    assert {one.result for one in applied.outcomes} == {Result.DELETED}
    assert await world.shelf.tags("a") == {"keep"}


@pytest.mark.parametrize("manifests", [0, 1])
async def test_a_tag_that_would_go_with_its_manifest_is_reported_as_that(
    world: World, manifests: int
) -> None:
    """The registry cannot delete tags, and fails after some manifests."""
    child = await world.shelf.image("a:child")
    index = await world.shelf.index("a:index", child)
    original = world.registry.delete
    left = manifests

    async def fails_later(reference: Reference) -> bool:
        nonlocal left
        if reference.tag:
            raise registries.Unsupported("405", status=405)
        left -= 1
        if left < 0:
            raise registries.Unavailable("503")
        return await original(reference)

    world.registry.delete = fails_later  # type: ignore[method-assign]
    applied = await world.pruner().apply()
    expected = {str(child.digest): Result.FAILED, str(index.digest): Result.FAILED}
    if manifests:
        expected[str(index.digest)] = Result.DELETED
    for one in applied.outcomes:
        assert one.result is expected[one.line.digest]
    assert len(applied.outcomes) == 4
    assert await world.shelf.tags("a") == ({"child"} if manifests else {"child", "index"})


async def test_a_pod_that_starts_with_an_image_that_went_before_a_failure_gets_it_back(
    world: World,
) -> None:
    child = await world.shelf.image("a:child")
    await world.shelf.index("a:index", child)
    original = world.registry.delete

    async def fails_for_the_child(reference: Reference) -> bool:
        if reference.digest == child.digest:
            await world.run_pod("registry.test/a:index")
            await asyncio.sleep(0.5)
            raise registries.Unavailable("503")
        return await original(reference)

    world.registry.delete = fails_for_the_child  # type: ignore[method-assign]
    applied = await world.pruner().apply()
    assert {one.result for one in applied.outcomes} == {Result.RESTORED}
    assert await world.shelf.pullable("a:index")


async def test_a_last_look_that_fails_is_reported_and_stops_no_other(world: World) -> None:
    await world.shelf.image("a:old", layers=[b"1"])
    await world.shelf.image("b:old", layers=[b"2"])
    pruner = world.pruner()
    original = world.registry.tags

    async def fails(reference: Reference) -> tuple[str, ...]:
        if (
            reference.repository == "a"
            and await world.registry.head(world.shelf.at("a:old")) is None
        ):
            raise registries.Unavailable("503")
        return await original(reference)

    world.registry.tags = fails  # type: ignore[method-assign,assignment]
    applied = await pruner.apply()
    results = {(one.line.repository, one.result) for one in applied.outcomes}
    assert results == {("a", Result.FAILED), ("b", Result.DELETED)}


async def test_a_registry_that_takes_a_kept_tag_along_stops_after_the_canary(world: World) -> None:
    await world.shelf.image("a:1", layers=[b"1"])
    await world.shelf.image("a:2", layers=[b"2"])
    kept = await world.shelf.image("a:keep", layers=[b"3"])
    original = world.registry.delete

    async def greedy(reference: object) -> bool:
        if getattr(reference, "digest", None):
            await original(world.shelf.at("a:keep"))
        return await original(reference)  # type: ignore[arg-type]

    world.registry.delete = greedy  # type: ignore[method-assign]
    with pytest.raises(CanaryFailed, match="a:keep was gone"):
        await world.pruner().apply()
    assert len(await world.shelf.tags("a")) == 1, "one candidate; no tag is written"
    assert await world.shelf.pullable(f"a@{kept.digest}")


async def test_a_kept_tag_that_moves_to_an_image_keeps_it(world: World) -> None:
    """A rollback while the image is put into the trash: its push was answered, so it stands."""
    old = await world.shelf.image("a:old", layers=[b"1"])
    await world.shelf.image("a:keep", layers=[b"2"])
    original = world.registry.push_manifest

    async def rolled_back(reference: Reference, manifest: Manifest) -> None:
        await original(reference, manifest)
        if is_copy(reference):
            await original(world.shelf.at("a:keep"), old)

    world.registry.push_manifest = rolled_back  # type: ignore[method-assign]
    applied = await world.pruner().apply()
    assert {one.result for one in applied.outcomes} == {Result.CHANGED}
    assert await world.shelf.tags("a") == {"keep", "old"}
    found = await world.registry.head(world.shelf.at("a:keep"))
    assert found is not None
    assert found.digest == old.digest
    assert await world.shelf.pullable("a:keep")


async def test_a_manifest_that_is_still_there_after_its_deletion_ends_the_run(world: World) -> None:
    """As on ECR, which answers every DELETE of the distribution API with 404."""
    await world.shelf.image("a:old")
    original = world.registry.delete

    async def ignored(reference: Reference) -> bool:
        return False if reference.digest else await original(reference)

    world.registry.delete = ignored  # type: ignore[method-assign]
    with pytest.raises(CannotDelete, match="still has it"):
        await world.pruner().apply()


async def test_a_rollback_of_the_first_image_that_is_undone_at_once_ends_no_run(
    world: World,
) -> None:
    """The image is there again, and no tag names it: the registry did delete it before."""
    old = await world.shelf.image("a:old")
    kept = await world.shelf.image("a:keep", layers=[b"kept"])
    original = world.registry.delete

    async def rolled_back_and_forth(reference: Reference) -> bool:
        found = await original(reference)
        if reference.digest == old.digest:
            await world.registry.push_manifest(world.shelf.at("a:keep"), old)
            await world.registry.push_manifest(world.shelf.at("a:keep"), kept)
        return found

    world.registry.delete = rolled_back_and_forth  # type: ignore[method-assign]
    applied = await world.pruner().apply()
    assert {one.result for one in applied.outcomes} == {Result.CHANGED}
    assert await world.shelf.tags("a") == {"keep"}
    assert await world.shelf.pullable(f"a@{old.digest}")


async def test_an_image_that_is_pushed_again_right_after_its_deletion_stays(world: World) -> None:
    """Between the DELETE and the HEAD that looks whether it is gone."""
    old = await world.shelf.image("a:old")
    await world.shelf.image("a:other", layers=[b"other"])
    original = world.registry.delete

    async def pushed_again(reference: Reference) -> bool:
        found = await original(reference)
        if reference.digest == old.digest:
            await world.registry.push_manifest(world.shelf.at("a:back"), old)
        return found

    world.registry.delete = pushed_again  # type: ignore[method-assign]
    applied = await world.pruner().apply()
    results = {(one.line.digest, one.line.tag): one.result for one in applied.outcomes}
    assert results[str(old.digest), ""] is Result.CHANGED
    assert await world.shelf.pullable("a:back")
    assert await world.shelf.tags("a") == {"back"}


async def test_a_registry_that_takes_a_tag_along_with_another_tag_stops(world: World) -> None:
    """Nothing goes by digest here: only the check after the canary sees it."""
    image = await world.shelf.image("a:1", layers=[b"1"])
    await world.registry.push_manifest(world.shelf.at("a:keep"), image)
    await world.shelf.image("b:2", layers=[b"2"])
    original = world.registry.delete

    async def greedy(reference: Reference) -> bool:
        if reference.tag == "1":
            await original(world.shelf.at("a:keep"))
        return await original(reference)

    world.registry.delete = greedy  # type: ignore[method-assign]
    with pytest.raises(CanaryFailed, match="a:keep was gone"):
        await world.pruner().apply()
    assert await world.shelf.pullable("b:2"), "nothing else is deleted"


async def test_an_image_that_is_not_in_the_trash_after_its_push_stays(world: World) -> None:
    await world.shelf.image("a:old")
    original = world.registry.push_manifest

    async def forgotten(reference: Reference, manifest: Manifest) -> None:
        if not (reference.tag or "").startswith("record-"):
            await original(reference, manifest)

    world.registry.push_manifest = forgotten  # type: ignore[method-assign]
    applied = await world.pruner().apply()
    assert {one.result for one in applied.outcomes} == {Result.CANNOT_TRASH}
    assert "is not in the trash after it was pushed" in applied.outcomes[0].message
    assert await world.shelf.pullable("a:old")


async def test_blobs_that_the_registry_does_not_mount_are_copied(world: World) -> None:
    await world.shelf.image("a:old")

    async def refused(*_arguments: object, **_more: object) -> bool:
        return False

    world.registry.mount_blob = refused  # type: ignore[method-assign]
    await world.pruner().apply()
    assert await world.shelf.tags("a") == set()
    ((place, record),) = await world.pruner().records()
    await world.pruner().restore(place, record)
    assert await world.shelf.pullable("a:old")


class WatchForbidden:
    """An API server that forbids to watch one kind, as RBAC does."""

    def __init__(self, inner: HttpTransport, plural: str) -> None:
        self._inner, self._plural = inner, plural

    async def __call__(self, request: Request) -> Response:
        is_watch = dict(request.query).get("watch") in ("1", "true")
        if is_watch and request.path.endswith(f"/{self._plural}"):
            body = {"kind": "Status", "status": "Failure", "reason": "Forbidden", "message": "no"}
            return Response(status=403, body=msgspec.json.encode(body))
        return await self._inner(request)


@pytest.mark.parametrize("plural", ["pods", "daemonsets"])
async def test_a_role_that_may_not_watch_deletes_nothing(world: World, plural: str) -> None:
    """As `system:image-pruner` of OpenShift."""
    await world.shelf.image("a:old")
    world.kube = KubeClient(WatchForbidden(world.api, plural))
    with pytest.raises(WatchLost, match=f"{plural} cannot be watched.*Nothing is deleted"):
        await world.pruner().apply()
    assert await world.shelf.pullable("a:old")
    assert await world.shelf.tags("lading-trash") == set()


@pytest.mark.parametrize("status", [403, 500])
async def test_a_list_that_fails_deletes_nothing(world: World, status: int) -> None:
    await world.shelf.image("a:old")
    original = world.kube._transport

    async def broken(request: Request) -> Response:
        if request.path.endswith("/daemonsets"):
            return Response(status=status, body=b"{}")
        return await original(request)

    world.kube._transport = broken
    with pytest.raises(ReferencesIncomplete, match="the list of daemonsets failed"):
        await world.pruner().apply()
    assert await world.shelf.tags("a") == {"old"}


@pytest.mark.parametrize("calls", [1, 3, 6])
async def test_z11_a_cancelled_run_stops_and_loses_nothing(world: World, calls: int) -> None:
    images = [await world.shelf.image(f"a:{name}", layers=[name.encode()]) for name in "1234"]
    original = world.registry.push_manifest
    left = calls

    async def cancelling(reference: Reference, manifest: Manifest) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            running.cancel()
        await original(reference, manifest)

    world.registry.push_manifest = cancelling  # type: ignore[method-assign]
    running = asyncio.create_task(world.pruner().apply())
    with pytest.raises(asyncio.CancelledError):
        await running
    world.registry.push_manifest = original  # type: ignore[method-assign]
    there = [one for one in images if await world.shelf.pullable(f"a@{one.digest}")]
    assert there, "the rest was not deleted any more"
    pruner = world.pruner()
    for place, record in await pruner.records():
        await pruner.restore(place, record)
    for image in images:
        assert await world.shelf.pullable(f"a@{image.digest}")


async def test_images_of_every_kind_come_back_as_they_were(world: World) -> None:
    world.policy = policy.parse(
        {
            "policies": [
                {
                    "repositories": ["**"],
                    "keepTags": [],
                    "artifactTypes": [pruned_kinds.HELM, pruned_kinds.SIGNATURE],
                }
            ]
        }
    )
    pushed = await pruned_kinds.push_all(world.shelf, "team/app")
    pruner = world.pruner()
    await pruner.apply()
    assert await world.shelf.tags("team/app") == set()
    for place, record in await pruner.records():
        await pruner.restore(place, record)
    await pruned_kinds.check_all(world, "team/app", pushed)


def signature_tag(manifest: Manifest) -> str:
    return f"sha256-{manifest.digest.encoded}.sig"


async def test_a_signature_by_tag_comes_back_with_its_image(world: World) -> None:
    image = await world.shelf.image("a:old")
    await world.shelf.image(f"a:{signature_tag(image)}", layers=[b"signature"])
    pruner = world.pruner()
    await pruner.apply()
    assert await world.shelf.tags("a") == set()
    place, record = next((place, one) for place, one in await pruner.records() if "old" in one.tags)
    await pruner.restore(place, record)
    assert await world.shelf.pullable(f"a:{signature_tag(image)}")


@pytest.mark.parametrize("place", ["a", "signatures"])
async def test_a_signature_by_tag_stays_with_an_image_that_is_used_meanwhile(
    world: World, place: str
) -> None:
    image = await world.shelf.image("a:old")
    signature = f"{place}:{signature_tag(image)}"
    await world.shelf.image(signature, layers=[b"signature"])
    original = world.registry.push_manifest

    async def push_then_run(reference: Reference, manifest: Manifest) -> None:
        await original(reference, manifest)
        if is_copy(reference) and manifest == image:
            await world.run_pod(f"registry.test/a@{image.digest}")
            await asyncio.sleep(0.3)

    world.registry.push_manifest = push_then_run  # type: ignore[method-assign]
    await world.pruner().apply()
    assert await world.shelf.pullable("a:old")
    assert await world.shelf.pullable(signature)


async def test_a_signature_in_a_record_of_its_own_comes_back_with_its_image(world: World) -> None:
    """As earlier releases wrote it."""
    image = await world.shelf.image("a:old")
    signature = await world.shelf.image(f"a:{signature_tag(image)}", layers=[b"signature"])
    now = datetime.now().astimezone()
    for manifest, tag in ((image, "old"), (signature, signature_tag(image))):
        digest = str(manifest.digest)
        await world.trash.put("a", digest, [manifest], tags={tag: digest}, reason="", now=now)
        await world.registry.delete(world.shelf.at(f"a@{digest}"))
    await world.run_pod(f"registry.test/a@{image.digest}")
    await world.pruner().apply()
    assert await world.shelf.pullable("a:old")
    assert await world.shelf.pullable(f"a:{signature_tag(image)}")


async def test_a_run_leaves_no_former_ledger_behind() -> None:
    registry = Counted()
    place = Reference(registry=REGISTRY, repository="lading-trash", tag="ledger")
    file = RegistryFile(registry, place)
    for number in range(3):
        await registry.push("r000", (f"keep-{number}",), own=str(number))
        await memory_pruner.pruner(registry, policy=keeping(1), ledger=file).apply()
    assert len(registry.repositories["lading-trash"].manifests) == 1


async def test_a_trash_of_many_records_is_read_by_its_index() -> None:
    registry = Counted()
    for number in range(20):
        await registry.push("r000", ("old",), own=str(number))
        await memory_pruner.pruner(registry, policy=keeping(1)).apply()
    pruner = memory_pruner.pruner(registry, policy=keeping(1))
    registry.count_anew()
    assert len(await pruner.records()) == 20
    assert registry.calls == 3
