"""A run that was ended is finished by the next one, unless what it left is needed by then."""

import contextlib
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from lading.kernel.digests import Digest
from lading.kernel.manifests import Descriptor
from lading.kernel.references import Reference
from lading.ports import registry as registries
from lading.ports.registry import Manifest
from lading.pruning.engine import ledger
from lading.pruning.engine.decisions import policy
from lading.pruning.engine.decisions.guards import GuardRefused, Limits
from lading.pruning.engine.effects.outcomes import CannotDelete, Result
from lading.pruning.engine.inventory.manifest_table import ManifestTable
from lading.pruning.engine.types import Form, Mention, Settings
from tests.pruning import memory_pruner, worlds
from tests.pruning.builders import REGISTRY
from tests.pruning.counted_registry import Counted, entry, keeping
from tests.pruning.memory_pruner import MemoryFile
from tests.pruning.memory_registry import Crash
from tests.pruning.worlds import World

WRITES = {"push_blob", "push_manifest", "mount_blob", "copy_blob", "delete"}
NO_END = 10**6


@dataclass
class EndingProcess:
    """A registry as a process sees it that is ended after some of its writes."""

    registry: Any
    writes_left: int
    writes: int = 0

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.registry, name)

        async def asked(*arguments: Any, **more: Any) -> Any:
            if self.writes_left <= 0:
                raise Crash
            found = await method(*arguments, **more)
            self.writes += name in WRITES
            self.writes_left -= name in WRITES
            return found

        return asked


async def fill(world: World) -> tuple[list[Manifest], list[Manifest]]:
    """What goes, and what stays: they share a manifest, and a signature has no tag."""
    shelf = world.shelf
    shared = await shelf.image("a:keep-arm", layers=[b"shared"])
    own = await shelf.image("a:old-amd", layers=[b"own"])
    going = [own, await shelf.index("a:old", shared, own)]
    kept = [shared, await shelf.index("a:keep", shared)]
    for signed, place in ((own, going), (shared, kept)):
        subject = shelf.entry(signed.digest, len(signed.content), signed.media_type)
        content = Digest.of(signed.content).encoded.encode()
        tagged = await shelf.image("a:signature", layers=[content], subject=subject)
        await world.registry.delete(shelf.at("a:signature"))
        place.append(tagged)
    return going, kept


async def run_until(world: World, writes: int) -> int:
    """How many writes there were."""
    whole = world.registry
    process = EndingProcess(whole, writes)
    world.registry = process
    try:
        with contextlib.suppress(Crash, BaseExceptionGroup):
            await world.pruner().apply()
    finally:
        world.registry = whole
    for tag in await world.shelf.tags("lading-trash"):
        if tag.startswith("lock-"):  # it has expired
            await whole.delete(world.shelf.at(f"lading-trash:{tag}"))
    return process.writes


@pytest.mark.parametrize(
    ("has_state_folder", "step"),
    [
        pytest.param(False, 4, id="trash"),
        pytest.param(False, 1, id="trash, every write", marks=pytest.mark.soak),
        pytest.param(True, 1, id="state folder, every write", marks=pytest.mark.soak),
    ],
)
@pytest.mark.timeout(300)
async def test_ended_after_any_write_the_next_run_leaves_nothing_over_and_loses_nothing(
    tmp_path: Path, has_state_folder: bool, step: int
) -> None:
    writes, total = 0, NO_END
    while writes < total:
        async with worlds.opened(tmp_path / str(writes)) as world:
            world.has_state_folder = has_state_folder
            going, kept = await fill(world)
            if total == NO_END:
                total = await run_until(world, NO_END)
            else:
                assert await run_until(world, writes) == writes
                await world.pruner().apply()
            assert await world.shelf.tags("a") == {"keep-arm", "keep"}, f"{writes} writes"
            for one in kept:
                assert await world.shelf.pullable(f"a@{one.digest}"), f"{writes} writes"
            for one in going:
                left = await world.registry.head(world.shelf.at(f"a@{one.digest}"))
                assert left is None, f"{writes} writes"
                assert await world.shelf.pullable(f"lading-trash@{one.digest}")
            found = ledger.decode(await world.ledger_file.read())
            assert found.unfinished == {}, f"{writes} writes"
        writes += step
    assert total > len(going) + 2, "the ledger, the trash and the deletions"


async def end_before_the_manifest(registry: Counted, **pruner: Any) -> None:
    """The registry deletes the tags of a manifest first, and is ended then, as the run is."""
    delete = registry.delete

    async def ended(reference: Reference) -> bool:
        place = registry.repositories[reference.repository]
        place.tags = {tag: to for tag, to in place.tags.items() if to != str(reference.digest)}
        raise Crash

    registry.delete = ended  # type: ignore[method-assign]
    with contextlib.suppress(Crash, BaseExceptionGroup):
        await memory_pruner.pruner(registry, **pruner).apply()
    registry.delete = delete  # type: ignore[method-assign]
    memory_pruner.expire_locks(registry)


async def left_over(registry: Counted, file: MemoryFile, **pruner: Any) -> Manifest:
    """An image that lost its tag to a run that was ended then."""
    image = await registry.push("r000", ("old",), own="left")
    await end_before_the_manifest(registry, policy=keeping(1), ledger=file, **pruner)
    place = registry.repositories["r000"]
    assert "old" not in place.tags
    assert str(image.digest) in place.manifests
    return image


@pytest.mark.parametrize("fills_trash", [True, False], ids=["trash", "no trash"])
async def test_it_is_finished_with_and_without_a_trash(fills_trash: bool) -> None:
    registry, file = Counted(), MemoryFile()
    image = await left_over(registry, file, fills_trash=fills_trash)
    applied = await memory_pruner.pruner(
        registry, policy=keeping(1), ledger=file, fills_trash=fills_trash
    ).apply()
    assert [one.line.digest for one in applied.outcomes] == [str(image.digest)]
    assert registry.repositories["r000"].manifests == {}
    assert registry.is_whole("lading-trash", str(image.digest)) is fills_trash


async def test_a_deletion_that_fails_is_tried_again_by_the_next_run() -> None:
    registry, file = Counted(), MemoryFile()
    image = await registry.push("r000", ("old",), own="left")
    delete = registry.delete

    async def fails(reference: Reference) -> bool:
        if reference.repository == "r000":
            raise registries.Unavailable("503", status=503)
        return await delete(reference)

    registry.delete = fails  # type: ignore[method-assign]
    applied = await memory_pruner.pruner(registry, policy=keeping(1), ledger=file).apply()
    assert [one.result for one in applied.outcomes] == [Result.FAILED, Result.FAILED]
    assert str(image.digest) in registry.repositories["r000"].manifests
    registry.delete = delete  # type: ignore[method-assign]
    await memory_pruner.pruner(registry, policy=keeping(1), ledger=file).apply()
    assert registry.repositories["r000"].manifests == {}


async def test_a_dry_run_shows_what_is_left_and_deletes_nothing() -> None:
    registry, file = Counted(), MemoryFile()
    image = await left_over(registry, file)
    before = file.content
    pruner = memory_pruner.pruner(registry, policy=keeping(1), ledger=file)
    plan = pruner.plan(await pruner.observe())
    assert [(one.what, one.digest) for one in plan.deletions] == [("manifest", str(image.digest))]
    assert str(image.digest) in registry.repositories["r000"].manifests
    assert file.content == before


async def test_it_is_found_in_a_repository_that_the_catalogue_lacks() -> None:
    registry, file = Counted(), MemoryFile()
    await left_over(registry, file)

    async def without_tags(_registry: str) -> tuple[str, ...]:
        return tuple(name for name, place in registry.repositories.items() if place.tags)

    registry.catalogue = without_tags  # type: ignore[method-assign,assignment]
    await memory_pruner.pruner(registry, policy=keeping(1), ledger=file).apply()
    assert registry.repositories["r000"].manifests == {}


async def test_a_run_on_another_repository_does_not_forget_it() -> None:
    registry, file = Counted(), MemoryFile()
    await left_over(registry, file)
    await registry.push("r001", ("keep",), own="other")
    pruner = memory_pruner.pruner(registry, policy=keeping(1), ledger=file, repositories=("r001",))
    assert (await pruner.apply()).outcomes == ()
    await memory_pruner.pruner(registry, policy=keeping(1), ledger=file).apply()
    assert registry.repositories["r000"].manifests == {}


async def test_a_refused_run_does_not_forget_it(world: World) -> None:
    await world.shelf.image("a:keep")
    image = await world.shelf.image("a:old-child", layers=[b"left"])
    await world.shelf.index("a:old", image)
    whole, writes = world.registry, 0
    while "old" in await world.shelf.tags("a"):
        writes += 1
        world.registry = whole
        await run_until(world, writes)
    world.limits = Limits(size_bytes_max=1)
    with pytest.raises(GuardRefused, match="--ignore-guard=bytes"):
        await world.pruner().apply()
    place = world.shelf.at(f"a@{image.digest}")
    assert await world.registry.head(place) is not None
    world.limits = Limits(share_percent_max=100)
    await world.pruner().apply()
    assert await world.registry.head(place) is None


async def tag_again(registry: Counted, image: Manifest) -> None:
    place = Reference(registry=REGISTRY, repository="r000", tag="keep-again")
    await registry.push_manifest(place, image)


async def index_it(registry: Counted, image: Manifest) -> None:
    await registry.push("r000", ("keep-index",), manifests=[entry(image)])


async def attach_an_index(registry: Counted, image: Manifest) -> None:
    kept = await registry.push("r000", ("keep",), own="kept")
    await registry.push("r000", (), manifests=[entry(image)], subject=entry(kept))


@pytest.mark.parametrize("need", [tag_again, index_it, attach_an_index])
async def test_what_something_needs_by_now_stays(need: Any) -> None:
    registry, file = Counted(), MemoryFile()
    image = await left_over(registry, file)
    await need(registry, image)
    for _ in range(2):
        applied = await memory_pruner.pruner(registry, policy=keeping(1), ledger=file).apply()
        assert applied.outcomes == ()
        assert registry.is_whole("r000", str(image.digest))


async def test_what_has_a_tag_again_is_no_longer_remembered() -> None:
    """If that tag is removed by hand, the image is not ours to delete."""
    registry, file = Counted(), MemoryFile()
    image = await left_over(registry, file)
    await tag_again(registry, image)
    await memory_pruner.pruner(registry, policy=keeping(1), ledger=file).apply()
    del registry.repositories["r000"].tags["keep-again"]
    await memory_pruner.pruner(registry, policy=keeping(1), ledger=file).apply()
    assert registry.is_whole("r000", str(image.digest))


@pytest.mark.parametrize("path", [f"{REGISTRY}/r000@", "other.test/x@", f"{REGISTRY}/r000:$"])
async def test_what_is_used_stays_until_it_is_not(path: str) -> None:
    registry, file = Counted(), MemoryFile()
    image = await left_over(registry, file)
    used = [Mention(f"{path}{image.digest}", "Pod a/b")]
    everything: dict[str, Any] = {"policy": keeping(1), "ledger": file}
    await memory_pruner.pruner(registry, mentions=used, **everything).apply()
    assert registry.is_whole("r000", str(image.digest))
    assert "old" in registry.repositories["r000"].tags, "it is restored from the trash"
    await memory_pruner.pruner(registry, **everything).apply()
    assert registry.repositories["r000"].manifests == {}


async def test_what_is_used_stays_without_a_trash_as_well() -> None:
    registry, file = Counted(), MemoryFile()
    image = await left_over(registry, file, fills_trash=False)
    everything: dict[str, Any] = {"policy": keeping(1), "ledger": file, "fills_trash": False}
    used = [Mention(f"other.test/x@{image.digest}", "Pod a/b")]
    await memory_pruner.pruner(registry, mentions=used, **everything).apply()
    assert registry.is_whole("r000", str(image.digest))
    await memory_pruner.pruner(registry, **everything).apply()
    assert registry.repositories["r000"].manifests == {}


async def test_it_stays_outside_of_the_namespace_that_is_pruned() -> None:
    registry, file = Counted(), MemoryFile()
    image = await left_over(registry, file)
    settings = Settings(keep_younger_than=timedelta(0), namespace="other")
    pruner = memory_pruner.pruner(registry, policy=keeping(1), ledger=file, settings=settings)
    assert (await pruner.apply()).outcomes == ()
    assert registry.is_whole("r000", str(image.digest))


async def test_a_chart_stays_when_no_policy_names_its_type_any_more() -> None:
    registry, file = Counted(), MemoryFile()
    rule = {"repositories": ["**"], "keepTags": [], "artifactTypes": ["helm"]}
    charts = policy.parse({"policies": [rule]})
    chart = await registry.push("r000", ("old",), artifactType="helm")
    await end_before_the_manifest(registry, policy=charts, ledger=file)
    await memory_pruner.pruner(registry, policy=keeping(1), ledger=file).apply()
    assert registry.is_whole("r000", str(chart.digest))
    await memory_pruner.pruner(registry, policy=charts, ledger=file).apply()
    assert registry.repositories["r000"].manifests == {}


async def test_a_run_without_anything_left_asks_for_nothing_more() -> None:
    registry, file = Counted(), MemoryFile()
    await registry.push("r000", ("old",), own="goes")
    await registry.push("r000", ("keep",), own="stays")
    await memory_pruner.pruner(registry, policy=keeping(1), ledger=file).apply()
    assert ledger.decode(file.content).unfinished == {}


async def test_what_is_left_and_cannot_be_read_keeps_its_repository() -> None:
    registry, file = Counted(), MemoryFile()
    image = await left_over(registry, file)
    await registry.push("r000", ("old-2",), own="may be in it")
    original = registry.manifest

    async def broken(reference: Reference) -> Manifest:
        if reference.digest == image.digest:
            raise registries.DigestMismatch("wrong")
        return await original(reference)

    registry.manifest = broken  # type: ignore[method-assign]
    pruner = memory_pruner.pruner(registry, policy=keeping(1), ledger=file)
    assert (await pruner.apply()).outcomes == ()


@pytest.mark.parametrize("is_known", [True, False])
async def test_what_is_gone_is_not_left_over(is_known: bool) -> None:
    """The run was ended between its last deletion and its last write of the ledger."""
    registry, file, known = Counted(), MemoryFile(), ManifestTable()
    await registry.push("r000", ("old",), own="goes")
    await registry.push("r000", ("keep",), own="stays")
    pruner = memory_pruner.pruner(registry, policy=keeping(1), ledger=file, known=known)
    applied = await pruner.apply()
    gone = applied.outcomes[-1].line
    left = {"r000": (gone.digest,)}
    file.content = ledger.encode(structs.replace(ledger.decode(file.content), unfinished=left))
    known = known if is_known else ManifestTable()
    pruner = memory_pruner.pruner(registry, policy=keeping(1), ledger=file, known=known)
    assert (await pruner.apply()).plan.deletions == ()
    assert ledger.decode(file.content).unfinished == {}


async def test_what_a_refused_run_would_delete_is_not_remembered() -> None:
    """If its tag is removed by hand, the image is not ours to delete."""
    registry, file = Counted(), MemoryFile()
    image = await registry.push("r000", ("old",), own="goes")
    pruner = memory_pruner.pruner(
        registry, policy=keeping(1), ledger=file, limits=Limits(size_bytes_max=1)
    )
    with pytest.raises(GuardRefused):
        await pruner.apply()
    del registry.repositories["r000"].tags["old"]
    await memory_pruner.pruner(registry, policy=keeping(1), ledger=file).apply()
    assert registry.is_whole("r000", str(image.digest))


async def test_what_came_back_during_its_deletion_is_still_remembered() -> None:
    """It has no tag: once the index that needed it is gone, nothing else leads to it."""
    registry, file = Counted(), MemoryFile()
    image = await left_over(registry, file)
    delete = registry.delete

    async def push_then_delete(reference: Reference) -> bool:
        if reference.digest == image.digest:
            await index_it(registry, image)
        return await delete(reference)

    registry.delete = push_then_delete  # type: ignore[method-assign]
    applied = await memory_pruner.pruner(registry, policy=keeping(1), ledger=file).apply()
    assert [one.result for one in applied.outcomes] == [Result.RESTORED]
    assert registry.is_whole("r000", str(image.digest))
    registry.delete = delete  # type: ignore[method-assign]
    place = registry.repositories["r000"]
    del place.manifests[place.tags.pop("keep-index")]
    await memory_pruner.pruner(registry, policy=keeping(1), ledger=file).apply()
    assert place.manifests == {}


async def test_an_image_that_was_left_stays_when_no_policy_is_about_it_any_more() -> None:
    """The run may have been ended because its policy was wrong."""
    registry, file = Counted(), MemoryFile()
    image = await left_over(registry, file)
    pruner = memory_pruner.pruner(registry, policy=keeping(0), ledger=file)
    applied = await pruner.apply()
    assert applied.outcomes == ()
    verdict = applied.plan.manifest_verdicts["r000", str(image.digest)]
    assert verdict.reason == "NoPolicy"
    assert registry.is_whole("r000", str(image.digest))
    await memory_pruner.pruner(registry, policy=keeping(1), ledger=file).apply()
    assert registry.repositories["r000"].manifests == {}


async def test_what_a_user_restored_is_not_finished() -> None:
    """Its tag names another image by now, so it comes back without one."""
    registry, file = Counted(), MemoryFile()
    other, image = await left_over(registry, file), await registry.push("r000", ("a",), own="two")
    await end_before_the_manifest(registry, policy=keeping(1), ledger=file)
    await registry.push("r000", ("keep", "a"), own="the tag is taken")
    pruner = memory_pruner.pruner(registry, policy=keeping(1), ledger=file)
    records = {next(iter(one.tags), ""): (place, one) for place, one in await pruner.records()}
    assert await pruner.restore(*records["a"]) == ("a",)
    await memory_pruner.pruner(registry, policy=keeping(1), ledger=file).apply()
    assert registry.is_whole("r000", str(image.digest))
    assert str(other.digest) not in registry.repositories["r000"].manifests


async def test_a_restore_writes_no_ledger_that_needs_no_change() -> None:
    registry, file = Counted(), MemoryFile()
    await registry.push("r000", ("old",), own="image")
    await memory_pruner.pruner(registry, policy=keeping(1), ledger=file).apply()
    before = file.content = (file.content or b"") + b" "
    pruner = memory_pruner.pruner(registry, policy=keeping(1), ledger=file)
    await pruner.restore(*(await pruner.records())[0])
    assert file.content == before
    file.content = b"garbage"
    await pruner.restore(*(await pruner.records())[0])
    assert file.content == b"garbage"


async def test_what_a_run_found_changed_is_not_remembered() -> None:
    """If its tag is moved by hand, the image is not ours to delete."""
    registry, file = Counted(), MemoryFile()
    await registry.push("r000", ("old",), own="goes")
    read = registry.tagged_manifest

    async def then_moved(reference: Reference) -> Manifest:
        found = await read(reference)
        await registry.push("r000", ("old",), own="another")
        return found

    registry.tagged_manifest = then_moved  # type: ignore[method-assign]
    applied = await memory_pruner.pruner(registry, policy=keeping(1), ledger=file).apply()
    assert {one.result for one in applied.outcomes} == {Result.CHANGED}
    assert ledger.decode(file.content).unfinished == {}


async def test_what_could_not_go_into_the_trash_is_not_remembered() -> None:
    registry, file = Counted(), MemoryFile()
    await registry.push("r000", ("old",), own="goes")

    async def no_head(reference: Reference) -> Descriptor | None:
        return None if reference.repository == "lading-trash" else await head(reference)

    head, registry.head = registry.head, no_head  # type: ignore[method-assign]
    applied = await memory_pruner.pruner(registry, policy=keeping(1), ledger=file).apply()
    assert {one.result for one in applied.outcomes} == {Result.CANNOT_TRASH}
    assert ledger.decode(file.content).unfinished == {}


async def test_a_run_that_ends_with_an_error_remembers_only_what_it_began() -> None:
    registry, file = Counted(), MemoryFile()
    every = [await registry.push("r000", (f"old-{one}",), own=one) for one in range(3)]

    async def keeps_all(_reference: Reference) -> bool:
        return True

    delete, registry.delete = registry.delete, keeps_all  # type: ignore[method-assign,assignment]
    with pytest.raises(CannotDelete):
        await memory_pruner.pruner(registry, policy=keeping(1), ledger=file).apply()
    registry.delete = delete  # type: ignore[method-assign]
    begun = ledger.decode(file.content).unfinished["r000"]
    assert len(begun) == 1
    assert {*begun} < {str(one.digest) for one in every}


async def test_what_was_left_is_remembered_by_a_run_that_could_not_delete_it() -> None:
    registry, file = Counted(), MemoryFile()
    image = await left_over(registry, file)

    push = registry.push_manifest

    async def no_push(reference: Reference, manifest: Manifest) -> None:
        if not (reference.tag or "").startswith("lock-"):
            raise registries.Unavailable("503")
        await push(reference, manifest)

    registry.push_manifest = no_push  # type: ignore[method-assign]
    applied = await memory_pruner.pruner(registry, policy=keeping(1), ledger=file).apply()
    registry.push_manifest = push  # type: ignore[method-assign]
    assert [one.result for one in applied.outcomes] == [Result.FAILED]
    assert ledger.decode(file.content).unfinished == {"r000": (str(image.digest),)}


@pytest.mark.parametrize("is_taken", [False, True], ids=["with its tag", "without"])
async def test_what_is_in_place_and_used_is_not_reported_as_restored(is_taken: bool) -> None:
    """By its digest alone it is not found in the inventory, if it has no tag."""
    registry, file = Counted(), MemoryFile()
    image = await registry.push("r000", ("old",), own="image")
    everything: dict[str, Any] = {"policy": keeping(0), "ledger": file}
    await memory_pruner.pruner(registry, policy=keeping(1), ledger=file).apply()
    if is_taken:
        await registry.push("r000", ("keep", "old"), own="the tag is taken")
    used = [Mention(f"sha256:{image.digest.encoded}", "Pod a/b", Form.IMAGE_ID)]
    for restored in (1, 0):
        applied = await memory_pruner.pruner(registry, mentions=used, **everything).apply()
        assert len(applied.restored.records) == restored
        assert registry.is_whole("r000", str(image.digest))


@pytest.mark.parametrize("goes_alone", [False, True], ids=["an image", "a tag"])
async def test_what_is_no_longer_in_the_trash_is_named_and_stops_no_run(goes_alone: bool) -> None:
    registry, file = Counted(), MemoryFile()
    tags = ("old", "keep") if goes_alone else ("old",)
    await registry.push("r000", tags, own="image")
    everything: dict[str, Any] = {"policy": keeping(1), "ledger": file}
    await memory_pruner.pruner(registry, **everything).apply()
    for name in ("r000", "lading-trash"):
        place = registry.repositories[name]
        records = {to for tag, to in place.tags.items() if tag.startswith("record-")}
        place.manifests = {one: found for one, found in place.manifests.items() if one in records}
        place.tags = {tag: to for tag, to in place.tags.items() if to in records}
    await registry.push("r000", ("old-2",), own="goes")
    used = [Mention(f"{REGISTRY}/r000:old", "Pod a/b")]
    applied = await memory_pruner.pruner(registry, mentions=used, **everything).apply()
    assert [list(one.tags) for one in applied.restored.lost] == [["old"]]
    assert applied.restored.records == ()
    assert [one.line.tag for one in applied.outcomes] == ["old-2", ""]


async def test_what_an_index_holds_and_is_there_is_not_reported_as_restored() -> None:
    registry, file = Counted(), MemoryFile()
    everything: dict[str, Any] = {"policy": keeping(1), "ledger": file}
    image = await registry.push("r000", ("old",), own="image")
    await memory_pruner.pruner(registry, **everything).apply()
    await registry.push("r000", (), own="image")
    await index_it(registry, image)
    assert (await memory_pruner.pruner(registry, **everything).apply()).restored.records == ()


async def test_a_tag_that_names_the_same_image_is_not_reported_as_taken() -> None:
    registry, file = Counted(), MemoryFile()
    pruner = memory_pruner.pruner(registry, policy=keeping(1), ledger=file)
    await registry.push("r000", ("old",), own="image")
    await pruner.apply()
    (found,) = await pruner.records()
    assert [await pruner.restore(*found) for _ in range(2)] == [(), ()]


async def test_a_tag_that_went_alone_and_is_used_comes_back() -> None:
    registry, file = Counted(), MemoryFile()
    everything: dict[str, Any] = {"policy": keeping(1), "ledger": file}
    await registry.push("r000", ("keep", "old"), own="image")
    await memory_pruner.pruner(registry, **everything).apply()
    assert set(registry.repositories["r000"].tags) == {"keep"}
    used = [Mention(f"{REGISTRY}/r000:old", "Pod a/b")]
    applied = await memory_pruner.pruner(registry, mentions=used, **everything).apply()
    assert len(applied.restored.records) == 1
    assert set(registry.repositories["r000"].tags) == {"keep", "old"}
