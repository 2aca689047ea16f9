"""How many requests the inventory of a registry takes, and that it lacks nothing."""

import itertools
import json

import pytest

from lading.kernel.digests import Digest
from lading.kernel.manifests import Descriptor
from lading.kernel.references import Reference
from lading.ports import registry as registries
from lading.ports.registry import Manifest
from lading.pruning.engine.inventory.manifest_table import ManifestTable
from lading.pruning.engine.types import Mention
from tests.pruning import memory_pruner
from tests.pruning.builders import REGISTRY
from tests.pruning.counted_registry import Counted, entry, keeping
from tests.pruning.memory_pruner import MemoryFile

REPOSITORIES = 12
TAGS = 600
CHILDREN = 2
SHARED = 2  # tags of one image


async def large(*, children: int) -> Counted:
    """Every image has two tags; every second image is named `keep`."""
    registry = Counted()
    images = TAGS // REPOSITORIES // SHARED
    for number in range(REPOSITORIES):
        name = f"r{number:03}"
        for image in range(images):
            held = [
                entry(await registry.push(name, (), own=f"{name} {image} {child}"))
                for child in range(children)
            ]
            kind = "keep" if image % 2 else "old"
            tags = tuple(f"{kind}-{image}-{one}" for one in range(SHARED))
            await registry.push(name, tags, own=f"{name} {image}", manifests=held)
    return registry


@pytest.mark.parametrize(
    ("children", "pruned"),
    [(0, REPOSITORIES), (CHILDREN, REPOSITORIES // 3)],
    ids=["images, some go of each repository", "indexes, some go of each third repository"],
)
async def test_a_run_takes_a_request_for_each_tag_and_one_for_each_digest(
    children: int, pruned: int
) -> None:
    registry = await large(children=children)
    bound = TAGS + registry.digests + REPOSITORIES + 1  # pages of tags and of the catalogue
    for has_referrers, goes in itertools.product((True, False), (0, pruned)):
        registry.has_referrers = has_referrers
        known = ManifestTable()
        for run in (1, 2):
            registry.count_anew()
            pruner = memory_pruner.pruner(registry, policy=keeping(goes), known=known)
            observed = await pruner.observe()
            tags = sum(len(one.tags) for one in observed.inventory.repositories.values())
            assert tags == TAGS
            assert bool(pruner.plan(observed).deletions) is bool(goes)
            assert registry.calls <= bound, f"run {run}"
            if run == 2:
                assert registry.manifests_read == [], "no known manifest is read again"
            if not goes:
                assert registry.referrers_read == [], "no answer could change anything"
            elif not has_referrers:
                assert len(registry.referrers_read) == goes, "each repository is asked once"


async def test_a_second_run_keeps_the_bound_wherever_something_goes() -> None:
    """A first one takes one more for each manifest without a tag where something goes."""
    registry = Counted()
    for image in range(50):
        held = [entry(await registry.push("r000", (), own=f"{image} {one}")) for one in range(2)]
        await registry.push("r000", (f"{'keep' if image % 2 else 'old'}-{image}",), manifests=held)
    known = ManifestTable()
    for without_tag in (100, 0):
        registry.count_anew()
        await memory_pruner.pruner(registry, policy=keeping(1), known=known).observe()
        pages = 2
        assert registry.calls == 50 + registry.digests + pages + without_tag


async def test_a_tag_that_is_new_or_moved_is_read_with_one_request() -> None:
    registry, known, ledger = Counted(), ManifestTable(), MemoryFile()
    await registry.push("a", ("keep-1", "keep-2"), n=1)
    await registry.push("a", ("keep-3",), n=2)
    everything = {"known": known, "ledger": ledger, "policy": keeping(0)}
    await memory_pruner.pruner(registry, **everything).apply()  # type: ignore[arg-type]
    new = await registry.push("a", ("keep-4",), n=3)
    moved = await registry.push("a", ("keep-1",), n=4)
    registry.count_anew()
    found = await memory_pruner.pruner(registry, **everything).observe()  # type: ignore[arg-type]
    named = {tag.name: tag.digest for tag in found.inventory.repositories["a"].tags}
    assert named["keep-4"] == str(new.digest)
    assert named["keep-1"] == str(moved.digest)
    assert sorted(registry.manifests_read) == sorted([str(new.digest), str(moved.digest)])
    pages = 2
    assert registry.calls == pages + len(named) + 1, "what moved is seen by HEAD, then read"


async def test_an_index_without_a_tag_that_is_attached_to_a_kept_image_keeps_what_it_holds() -> (
    None
):
    registry = Counted()
    kept = await registry.push("r000", ("keep",), own="kept")
    child = await registry.push("r000", ("old",), own="child")
    await registry.push("r000", ("old-2",), own="goes")
    inner = await registry.push("r000", (), manifests=[entry(child)])
    await registry.push("r000", (), manifests=[entry(inner)], subject=entry(kept))
    await memory_pruner.pruner(registry, policy=keeping(1)).apply()
    assert set(registry.repositories["r000"].tags) == {"keep"}
    assert registry.is_whole("r000", str(inner.digest))


async def test_a_referrer_of_a_referrer_goes_with_its_image_into_the_trash() -> None:
    registry = Counted()
    image = await registry.push("r000", ("old",), own="goes")
    signature = await registry.push("r000", (), own="sig", subject=entry(image))
    statement = await registry.push("r000", (), own="of the signature", subject=entry(signature))
    await memory_pruner.pruner(registry, policy=keeping(1)).apply()
    assert registry.repositories["r000"].manifests == {}
    held = registry.repositories[memory_pruner.TRASH.repository].manifests
    assert {str(one.digest) for one in (image, signature, statement)} <= held.keys()


@pytest.mark.parametrize("pruned", [1, 2], ids=["nothing else goes there", "something goes there"])
async def test_a_signature_by_tag_stays_while_any_repository_has_its_subject(pruned: int) -> None:
    """Of r001 nothing goes; there the subject hangs, without a tag, on a kept image."""
    registry = Counted()
    subject = await registry.push("r000", ("old",), own="subject")
    assert subject == await registry.push("r001", (), own="subject")
    kept = await registry.push("r001", ("keep",), own="kept")
    await registry.push("r001", (), manifests=[entry(subject)], subject=entry(kept))
    signature = f"sha256-{subject.digest.encoded}.sig"
    await registry.push("r000", (signature,), own="signature")
    await memory_pruner.pruner(registry, policy=keeping(pruned)).apply()
    assert set(registry.repositories["r000"].tags) == {signature}
    assert registry.is_whole("r001", str(subject.digest))


async def test_an_image_comes_back_for_an_index_without_a_tag_that_was_pushed_meanwhile() -> None:
    registry, ledger = Counted(), MemoryFile()
    kept = await registry.push("r000", ("keep",), own="kept")
    image = await registry.push("r000", ("old",), own="goes")
    delete = registry.delete

    async def push_then_delete(reference: Reference) -> bool:
        if reference.digest == image.digest:
            await registry.push("r000", (), manifests=[entry(image)], subject=entry(kept))
        return await delete(reference)

    registry.delete = push_then_delete  # type: ignore[method-assign]
    await memory_pruner.pruner(registry, policy=keeping(1), ledger=ledger).apply()
    assert not registry.is_whole("r000", str(image.digest))
    await memory_pruner.pruner(registry, policy=keeping(1), ledger=ledger).apply()
    assert registry.is_whole("r000", str(image.digest))


async def test_a_list_of_referrers_that_is_missing_deletes_nothing() -> None:
    registry = Counted()
    every = [await registry.push("r000", (f"old-{one}",), own=one) for one in range(3)]
    missing = max(str(one.digest) for one in every)
    original = registry.referrers

    async def lost(reference: Reference) -> tuple[Descriptor, ...] | None:
        return None if str(reference.digest) == missing else await original(reference)

    registry.referrers = lost  # type: ignore[method-assign]
    with pytest.raises(ExceptionGroup) as caught:
        await memory_pruner.pruner(registry, policy=keeping(1)).apply()
    assert caught.group_contains(registries.MalformedAnswer, match=f"not those of {missing}")
    assert len(registry.repositories["r000"].tags) == len(every)


async def test_a_manifest_that_vanished_meanwhile_has_no_referrers() -> None:
    registry = Counted()
    every = [await registry.push("r000", (f"old-{one}",), own=one) for one in range(3)]
    gone = max(str(one.digest) for one in every)
    original = registry.referrers

    async def vanish(reference: Reference) -> tuple[Descriptor, ...] | None:
        if str(reference.digest) != gone:
            return await original(reference)
        registry.repositories["r000"].manifests.pop(gone, None)
        return None

    registry.referrers = vanish  # type: ignore[method-assign]
    pruner = memory_pruner.pruner(registry, policy=keeping(1))
    assert len((await pruner.observe()).inventory.repositories["r000"].manifests) == len(every)


async def test_why_knows_a_referrer_of_a_kept_image() -> None:
    registry = Counted()
    image = await registry.push("r000", ("keep",), own="kept")
    signature = await registry.push("r000", (), own="sig", subject=entry(image))
    pruner = memory_pruner.pruner(registry, mentions=[Mention(f"{REGISTRY}/r000:keep", "Pod a/b")])
    found = await pruner.observe(with_every_referrer=True)
    verdict = pruner.plan(found).manifest_verdicts["r000", str(signature.digest)]
    assert verdict.decision == "keep"


async def test_a_tag_that_goes_alone_needs_no_referrers() -> None:
    registry = Counted()
    await registry.push("r000", ("keep", "old"), own="stays")
    pruner = memory_pruner.pruner(registry, policy=keeping(1))
    assert len(pruner.plan(await pruner.observe()).deletions) == 1
    assert registry.referrers_read == []


async def test_ages_without_known_manifests_take_one_request_for_each_tag() -> None:
    """A Job without a folder of its own has the ages of the trash repository."""
    registry, ledger = Counted(), MemoryFile()
    for number in range(5):
        await registry.push("r000", (f"keep-{number}",), own=number)
    await memory_pruner.pruner(registry, policy=keeping(0), ledger=ledger).apply()
    registry.count_anew()
    await memory_pruner.pruner(registry, policy=keeping(0), ledger=ledger).observe()
    pages = 2
    assert registry.calls == 5 + pages


async def test_a_referrer_that_leads_to_another_repository_is_followed_there() -> None:
    """What r000 shows lets the signature in r001 go; only then must r001 be asked."""
    registry = Counted()
    image = await registry.push("r000", ("old",), own="image")
    statement = await registry.push("r000", (), own="statement", subject=entry(image))
    tag = f"sha256-{statement.digest.encoded}.sig"
    signature = await registry.push("r001", (tag,), own="signature")
    kept = await registry.push("r001", ("keep",), own="kept")
    index = await registry.push("r001", (), manifests=[entry(signature)], subject=entry(kept))
    await memory_pruner.pruner(registry, policy=keeping(1)).apply()
    assert registry.repositories["r000"].manifests == {}
    assert registry.is_whole("r001", str(index.digest))


async def test_a_referrer_that_cannot_be_read_keeps_its_repository() -> None:
    registry = Counted()
    kept = await registry.push("r000", ("keep",), own="kept")
    await registry.push("r000", ("old",), own="may be in it")
    hidden = await registry.push("r000", (), own="hidden", subject=entry(kept))
    original = registry.manifest

    async def broken(reference: Reference) -> Manifest:
        if reference.digest == hidden.digest:
            raise registries.DigestMismatch("wrong")
        return await original(reference)

    registry.manifest = broken  # type: ignore[method-assign]
    assert (await memory_pruner.pruner(registry, policy=keeping(1)).apply()).outcomes == ()


async def smallest(registry: Counted, repository: str) -> Manifest:
    """A manifest with a smaller digest than any other one of a test."""
    every = [await registry.push(repository, ("keep",), own=number) for number in range(300)]
    return min(every, key=lambda one: str(one.digest))


@pytest.mark.parametrize("lists_any", [True, False], ids=["any digest", "what it has"])
async def test_a_manifest_that_is_not_there_hides_no_referrers_of_others(lists_any: bool) -> None:
    """Some platforms of an index are often not copied. A registry may have no list for them."""
    registry, known = Counted(), ManifestTable()
    child = await registry.push("r000", ("old",), own="child")
    kept = await registry.push("r000", ("keep",), own="kept")
    first = await smallest(registry, "r001")
    assert first == await registry.push("r000", (), **json.loads(first.content))
    await registry.push("r000", ("keep-index",), manifests=[entry(first)])
    index = await registry.push("r000", (), manifests=[entry(child)], subject=entry(kept))
    assert min(registry.repositories["r000"].manifests) == str(first.digest)
    del registry.repositories["r000"].manifests[str(first.digest)]
    original = registry.referrers

    async def of_what_it_has(reference: Reference) -> tuple[Descriptor, ...] | None:
        is_here = await registry.head(reference) is not None
        return await original(reference) if is_here or lists_any else None

    registry.referrers = of_what_it_has  # type: ignore[method-assign]
    await registry.push("r001", ("keep",), **json.loads(first.content))
    await memory_pruner.pruner(registry, policy=keeping(0), known=known).observe()
    applied = await memory_pruner.pruner(registry, policy=keeping(2), known=known).apply()
    assert {one.line.tag for one in applied.outcomes} == {"old"}, "the index keeps what it holds"
    assert registry.is_whole("r000", str(index.digest))


async def test_where_nothing_is_there_any_more_no_list_is_no_error() -> None:
    registry = Counted()
    for number in range(3):
        await registry.push("r000", (f"old-{number}",), own=number)
    pruner = memory_pruner.pruner(registry, policy=keeping(1))

    async def vanished(_reference: Reference) -> tuple[Descriptor, ...] | None:
        registry.repositories["r000"].manifests.clear()
        return None

    registry.referrers = vanished  # type: ignore[method-assign,assignment]
    assert len((await pruner.observe()).inventory.repositories["r000"].manifests) == 3


@pytest.mark.parametrize("is_page", [False, True], ids=["no digest", "a page of a proxy"])
async def test_a_tag_that_names_what_the_registry_does_not_have_keeps_its_repository(
    is_page: bool,
) -> None:
    """Without the manifest the trash would have a record and no image."""
    registry = Counted()
    image = await registry.push("r000", ("old",), own="image")
    await registry.push("r000", ("old-2",), own="other")
    original, head = registry.manifest, registry.head
    page = Digest.of(b"<html>")

    async def not_by_digest(reference: Reference) -> Manifest:
        if reference.digest in (image.digest, page):
            raise registries.NotFound("404", status=404)
        return await original(reference)

    async def not_by_tag(reference: Reference) -> Manifest:
        if reference.tag == "old":
            raise registries.MalformedAnswer("the answer states no digest")
        return await original(reference)

    async def of_page(reference: Reference) -> Descriptor | None:
        found = await head(reference)
        return (
            found
            if reference.tag != "old"
            else Descriptor(media_type="", digest=page, size_bytes=6)
        )

    registry.manifest = not_by_digest  # type: ignore[method-assign]
    registry.tagged_manifest = not_by_tag  # type: ignore[method-assign]
    if is_page:
        registry.head = of_page  # type: ignore[method-assign]
    assert (await memory_pruner.pruner(registry, policy=keeping(1)).apply()).outcomes == ()
    assert set(registry.repositories["r000"].tags) == {"old", "old-2"}


async def test_a_tag_that_vanishes_before_its_manifest_is_read_keeps_nothing() -> None:
    registry = Counted()
    gone = await registry.push("r000", ("old",), own="gone")
    other = await registry.push("r000", ("old-2",), own="other")
    original = registry.manifest

    async def vanish(reference: Reference) -> Manifest:
        if reference.tag == "old":
            raise registries.MalformedAnswer("the answer states no digest")
        if reference.digest == gone.digest:
            await registry.delete(reference)
        return await original(reference)

    registry.manifest = vanish  # type: ignore[method-assign]
    pruner = memory_pruner.pruner(registry, policy=keeping(1))
    plan = pruner.plan(await pruner.observe())
    assert {one.digest for one in plan.deletions} == {str(other.digest)}


async def test_a_manifest_by_sha512_is_used_by_its_sha256_as_well() -> None:
    """Some runtimes report what they run by SHA-256, whatever the registry states."""
    registry = Counted()
    image = await registry.push("r001", ("keep",), own="by sha512")
    place = Reference(registry=REGISTRY, repository="r000", tag="old")
    other = Digest.of(image.content, "sha512")
    await registry.push_manifest(
        place, Manifest(media_type="", digest=other, content=image.content)
    )
    for mentions, stays in (([Mention(f"x.test/y@{image.digest}", "Pod a/b")], True), ([], False)):
        pruner = memory_pruner.pruner(registry, policy=keeping(1), mentions=mentions)
        await pruner.apply()
        assert ("old" in registry.repositories["r000"].tags) is stays


async def test_a_repository_with_one_manifest_is_asked_for_referrers_once() -> None:
    registry = Counted(has_referrers=False)
    await registry.push("r000", ("old",), own="image")
    registry.count_anew()
    await memory_pruner.pruner(registry, policy=keeping(1)).observe()
    pages = 2
    assert registry.calls == pages + 1 + 1, "its tag, its referrers"


@pytest.mark.parametrize("name", ["../x", "a b", "a\r\nb", "a/", "", "a?b", "%2e%2e/x", "-"])
@pytest.mark.parametrize("place", ["repository", "tag"])
async def test_a_name_that_leads_to_another_address_is_an_error(place: str, name: str) -> None:
    """`../manifests/keep` as a tag would delete the tag `keep`."""
    registry = Counted()
    await registry.push("r000", ("keep",), own="kept")
    await registry.push("r000", ("old",), own="goes")
    if place == "tag":
        registry.repositories["r000"].tags[name] = registry.repositories["r000"].tags["keep"]
    else:
        registry.repositories[name] = registry.repositories["r000"]
    pruner = memory_pruner.pruner(registry, policy=keeping(1))
    with pytest.raises((registries.MalformedAnswer, ExceptionGroup)) as caught:
        await pruner.apply()
    error = caught.value
    found = error.exceptions[0] if isinstance(error, ExceptionGroup) else error
    assert f"is not a {place}" in str(found)
    assert {"keep", "old"} <= set(registry.repositories["r000"].tags)


async def test_a_repository_in_upper_case_is_read() -> None:
    registry = Counted()
    await registry.push("Team/App", ("keep",), own="kept")
    found = await memory_pruner.pruner(registry, policy=keeping(1)).observe()
    assert [*found.inventory.repositories] == ["Team/App"]
