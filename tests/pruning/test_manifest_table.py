"""The packed manifests of an inventory: what goes in comes out, also through a file."""

import hashlib
from datetime import timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lading.pruning.engine.inventory import manifest_table
from lading.pruning.engine.inventory.manifest_table import InventoryManifest, ManifestTable
from tests.pruning.builders import NOW, digest, image

SHA512 = f"sha512:{'ab' * 64}"
EVERYTHING = InventoryManifest(
    digest=digest("m"),
    children=(digest("child"), SHA512),
    blobs=(digest("layer"), "sha256:ABC", digest("child")),
    subject=digest("subject"),
    artifact_type="application/x",
    size_bytes=2**40,
    is_opaque=True,
    is_unknown=True,
    pushed_at=NOW,
    created_at=NOW - timedelta(days=20_000, microseconds=1),
    is_managed=False,
)
PLAIN = InventoryManifest(digest=SHA512, blobs=(digest("layer"),))


def through_a_file(table: ManifestTable) -> ManifestTable:
    return ManifestTable.decoded(table.encoded())


@pytest.mark.parametrize("form", [lambda table: table, through_a_file], ids=["memory", "file"])
def test_manifests_and_sizes_come_out_as_they_went_in(form: object) -> None:
    assert callable(form)
    found = form(ManifestTable.of([EVERYTHING, PLAIN], {digest("layer"): 7, SHA512: 0}))
    assert dict(found) == {digest("m"): EVERYTHING, SHA512: PLAIN}
    assert len(found) == 2
    assert found.get(digest("layer")) is None, "a blob is no manifest"
    assert (found.blob_size_bytes(digest("layer")), found.blob_size_bytes(digest("other"))) == (
        7,
        0,
    )
    assert set(found.blobs()) == {digest("layer"), SHA512}
    assert found.has_blob(SHA512)
    assert not found.has_blob(digest("child"))


def test_a_part_of_a_table_has_only_its_own_manifests() -> None:
    known = ManifestTable.of([image("a", "l"), image("b", "l"), image("c")])
    part = known.only([digest("a"), digest("nothing"), digest("l")])
    known.add(image("later"))
    assert set(part) == {digest("a")}
    assert digest("later") not in part
    part.add(image("own"))
    assert digest("own") not in known
    assert set(through_a_file(known)) == {digest(one) for one in ("a", "b", "c", "later")}


def test_a_digest_has_one_text() -> None:
    table = ManifestTable.of([image("a", "l")])
    (blob,) = table[digest("a")].blobs
    assert table.shared(digest("l")) is blob


def test_it_says_what_needs_and_what_is_needed() -> None:
    table = ManifestTable.of(
        [image("i", children="a gone"), image("a", "l"), image("b"), image("s", subject="a")]
    )
    assert table.manifests_needed(digest("i")) == [digest("a")]
    assert table.needing([digest("l"), digest("unknown")]) == {digest("a")}
    assert table.needing([digest("a")]) == {digest("i")}
    assert list(table.attached()) == [(digest("a"), digest("s"))]
    assert (table.subject(digest("s")), table.subject(digest("a"))) == (digest("a"), "")
    assert table.numbers_needed(digest("unknown")) == ()


@pytest.mark.parametrize(
    "content",
    [b"", b"garbage", msgspec.msgpack.encode({"manifests": {}, "sizes": {}})],
)
def test_a_file_of_another_form_is_refused(content: bytes) -> None:
    for one in (content, hashlib.sha256(content).digest() + content):
        with pytest.raises(msgspec.MsgspecError):
            ManifestTable.decoded(one)


STORED = ManifestTable.of([EVERYTHING, PLAIN], {digest("layer"): 7, SHA512: 0}).encoded()


@given(bit=st.integers(0, 8 * len(STORED) - 1))
def test_a_file_with_a_changed_bit_is_refused(bit: int) -> None:
    changed = bytearray(STORED)
    changed[bit // 8] ^= 1 << bit % 8
    with pytest.raises(msgspec.ValidationError, match="checksum"):
        ManifestTable.decoded(bytes(changed))


@given(length=st.integers(0, len(STORED) - 1))
def test_a_file_that_is_cut_off_is_refused(length: int) -> None:
    with pytest.raises(msgspec.ValidationError, match="checksum"):
        ManifestTable.decoded(STORED[:length])


def test_a_file_of_another_release_is_refused() -> None:
    content = ManifestTable().encoded()[32:].replace(b"manifests/v1", b"manifests/v9")
    with pytest.raises(msgspec.ValidationError, match="v9"):
        ManifestTable.decoded(hashlib.sha256(content).digest() + content)


@pytest.mark.parametrize("number", [2, 2**40, -2])
def test_a_file_with_a_number_that_no_digest_has_is_refused(number: int) -> None:
    """Its checksum is right: it was written so."""
    packed = [number, [], [], "", 0, False, False, None, None, True]
    stored = {
        "version": manifest_table.VERSION,
        "digests": bytes(range(64)),
        "others": {},
        "sizes": bytes(16),
        "packed": [msgspec.msgpack.encode(packed), b""],
    }
    content = msgspec.msgpack.encode(stored)
    with pytest.raises(msgspec.ValidationError, match="a number that no digest has"):
        ManifestTable.decoded(hashlib.sha256(content).digest() + content)
    content = msgspec.msgpack.encode(stored | {"sizes": bytes(8)})
    with pytest.raises(msgspec.ValidationError, match="not of the same length"):
        ManifestTable.decoded(hashlib.sha256(content).digest() + content)
