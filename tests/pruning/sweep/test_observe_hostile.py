"""Storage that no registry writes: nothing that is used goes, and no sweep is held up."""

import hashlib

import msgspec
import pytest

from lading.kernel.digests import Digest
from lading.ports import storage as storages
from lading.pruning.engine.inventory.observe_storage import revision_link, tag_link
from lading.pruning.sweep import layout
from lading.pruning.sweep.types import BlobReason
from tests.pruning.sweep.worlds import SweepWorld

ORPHAN = b"orphan"
HEX = Digest.of(ORPHAN).encoded
SHA384 = f"sha384:{'cd' * 48}"
A = f"{layout.REPOSITORIES}/a"


@pytest.mark.parametrize("untagged", [False, True])
@pytest.mark.parametrize(
    "path",
    [
        f"{layout.BLOBS}/sha256/zz/{HEX}/data",
        f"{layout.BLOBS}/sha256/{HEX[:2]}/{HEX}/data.tmp",
        f"{layout.BLOBS}/sha256/{HEX[:2]}/{HEX}/data/data",
        f"{layout.BLOBS}/sha256/{HEX[:2].upper()}/{HEX.upper()}/data",
        f"{layout.BLOBS}/md5/{HEX[:2]}/{HEX[:32]}/data",
        f"{layout.BLOBS}-sha256/{HEX[:2]}/{HEX}/data",
        f"{layout.REPOSITORIES}.bak/a/_layers/sha256/{HEX}/link",
        f"{layout.REPOSITORIES}/_layers/sha256/{HEX}/link",
        f"{layout.ASIDE}/README",
        f"{layout.ASIDE}/folder/sha256-{HEX}",
        f"{A}/_uploads/file",
        f"{A}/_layers/sha256/{HEX}/link.tmp",
        f"{A}/_layers/sha256/{HEX}/link/link",
        f"{A}/_manifests/revisions/link",
        f"{A}/_manifests/tags/no-current/index/sha256/{HEX}/link",
        f"{A}/_manifests/tags/new\nline/other",
        f"{A}/_manifests/link",
    ],
)
async def test_a_path_that_no_registry_writes_is_passed_over(
    swept: SweepWorld, path: str, untagged: bool
) -> None:
    swept.untagged = untagged
    kept = swept.registry.image("a", "v1")
    digest = swept.registry.upload("a", ORPHAN)
    swept.registry.write(path, b"")
    swept.storage.pass_time(hours=200)
    before = set(swept.storage.objects)
    first = (await swept.run()).counts
    swept.storage.pass_time(hours=25)
    second = (await swept.run()).counts
    assert swept.registry.can_pull("a", kept)
    assert (first.condemned, first.links, first.failed) == (1, 1, 0)
    assert (second.freed_blobs, second.freed_bytes, second.failed) == (1, len(ORPHAN), 0)
    assert first.uploads == second.uploads == 0
    gone = before - set(swept.storage.objects)
    assert gone == {layout.data_path(digest), layout.layer_link("a", digest)}


@pytest.mark.parametrize("content", [b"", b"x" * 1000, b"no digest\n\x00", b"sha256:ABC"])
async def test_what_a_link_by_sha256_holds_does_not_matter(
    swept: SweepWorld, content: bytes
) -> None:
    """A registry that writes a link is not done yet: the path says what will be in it."""
    image, layer = swept.registry.image("a", "v1", [b"1"]), swept.digest(b"1")
    for path in (revision_link("a", image), layout.layer_link("a", layer)):
        swept.registry.write(path, content)
    await swept.offline()
    assert {layout.data_path(one) for one in (image, layer)} <= swept.blobs


@pytest.mark.parametrize(
    "digest", [SHA384, f"sha256:{'CD' * 32}", f"SHA256:{'cd' * 32}", "blake3:x", "sha256:\udcff"]
)
@pytest.mark.parametrize("folder", ["_layers", "_manifests/revisions"])
async def test_a_link_by_a_digest_that_is_not_known_keeps_the_data_that_it_names(
    swept: SweepWorld, folder: str, digest: str
) -> None:
    """Data that nothing else links, and all that its repository links."""
    swept.registry.image("b", "v1")
    named, beside = (swept.registry.upload("a", one) for one in (b"1", b"2"))
    free = swept.registry.upload("b", b"3")
    del swept.storage.objects[layout.layer_link("a", named)]
    path = f"{A}/{folder}/{digest.replace(':', '/')}/link"
    swept.registry.write(path, named.encode())
    swept.storage.pass_time(hours=25)
    reasons = await swept.reasons(offline=True)
    assert reasons[named] in {BlobReason.UNREADABLE, BlobReason.NEEDED}
    assert reasons[beside] is BlobReason.UNREADABLE
    assert reasons[free] is BlobReason.UNREFERENCED


@pytest.mark.parametrize("name", ["UPPER", "a b", "a/-", "\udcff", "new\nline", "a//b"])
async def test_a_repository_with_a_name_that_no_registry_has_keeps_what_it_links(
    swept: SweepWorld, name: str
) -> None:
    swept.registry.image("b", "v1")
    held, free = swept.registry.upload(name, b"1"), swept.registry.upload("b", b"2")
    swept.registry.write(f"{layout.REPOSITORIES}/{name}/_uploads/old/startedat", b"")
    swept.storage.pass_time(hours=200)
    await swept.whole()
    assert swept.has_data(held)
    assert swept.has_layer(name, held)
    assert not swept.has_data(free)


async def test_a_manifest_of_zero_bytes_keeps_what_its_repository_links(swept: SweepWorld) -> None:
    image = swept.registry.image("a", "v1", [b"1"])
    swept.registry.write(layout.data_path(image), b"")
    swept.storage.pass_time(hours=25)
    assert (await swept.reasons(offline=True))[swept.digest(b"1")] is BlobReason.UNREADABLE


@pytest.mark.parametrize("untagged", [False, True])
async def test_a_manifest_without_its_data_keeps_what_its_repository_links(
    swept: SweepWorld, untagged: bool
) -> None:
    """As in a storage that is restored at this time."""
    swept.untagged = untagged
    image = swept.registry.image("a", "v1", [b"1"])
    content = swept.storage.objects.pop(layout.data_path(image))
    for _ in range(2):
        await swept.offline()
    await swept.whole()
    swept.storage.objects[layout.data_path(image)] = content
    assert swept.registry.can_pull("a", image)


async def test_a_layer_of_zero_bytes_is_freed_as_any_other(swept: SweepWorld) -> None:
    kept = swept.registry.image("a", "v1", [b""])
    empty = swept.registry.upload("a", b"orphan")
    swept.registry.write(layout.data_path(empty), b"")
    counts = (await swept.offline()).counts
    assert (counts.freed_blobs, counts.freed_bytes) == (1, 0)
    assert swept.registry.can_pull("a", kept)


async def test_a_tag_without_its_current_link_is_no_tag(swept: SweepWorld) -> None:
    swept.untagged = True
    swept.registry.image("b", "v1")
    image = swept.registry.image("a", "v1", [b"1"])
    del swept.storage.objects[tag_link("a", "v1")]
    await swept.offline()
    assert not swept.has_data(image)


async def test_a_tag_that_goes_while_tags_are_read_is_no_error(swept: SweepWorld) -> None:
    swept.untagged = True
    kept = swept.registry.image("a", "v1", [b"1"])
    swept.registry.image("a", "v2", [b"2"])

    def untag(prefix: str) -> None:
        if prefix == layout.ROOT:
            swept.registry.untag("a", "v2")

    swept.storage.after_list = untag
    await swept.offline()
    assert swept.registry.can_pull("a", kept)


async def test_manifests_remembered_by_another_release_cost_only_time(swept: SweepWorld) -> None:
    image = swept.registry.image("a", "v1", [b"1"])
    body = msgspec.msgpack.encode({"keys": "of another form"})
    content = hashlib.sha256(body).digest() + body
    swept.registry.write(f"{layout.OWN}/manifests", content)
    await swept.offline()
    assert swept.registry.can_pull("a", image)


async def test_tags_that_seem_to_be_gone_after_the_list_keep_their_manifests(
    swept: SweepWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a proxy that answers 404 while its storage is restarted."""
    swept.untagged = True
    kept, held = swept.registry.image("a", "v1", [b"1"]), swept.registry.image("a", layers=[b"2"])
    gone = swept.registry.image("b", layers=[b"3"])
    whole = swept.storage.read

    async def read(path: str, *, bytes_max: int) -> bytes:
        if path == tag_link("a", "v1"):
            raise storages.NotFound(path)
        return await whole(path, bytes_max=bytes_max)

    monkeypatch.setattr(swept.storage, "read", read)
    await swept.offline()
    assert swept.registry.can_pull("a", kept)
    assert swept.registry.can_pull("a", held), "another tag may have named it"
    assert not swept.has_data(gone)


async def test_a_link_by_another_digest_that_seems_to_be_gone_keeps_its_data(
    swept: SweepWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept.registry.image("b", "v1")
    held, free = swept.registry.upload("a", b"1"), swept.registry.upload("b", b"2")
    path = layout.layer_link("a", f"sha512:{'cd' * 64}")
    swept.registry.write(path, held.encode())
    whole = swept.storage.read

    async def read(wanted: str, *, bytes_max: int) -> bytes:
        if wanted == path:
            raise storages.NotFound(path)
        return await whole(wanted, bytes_max=bytes_max)

    monkeypatch.setattr(swept.storage, "read", read)
    await swept.offline()
    assert swept.has_data(held)
    assert not swept.has_data(free)
