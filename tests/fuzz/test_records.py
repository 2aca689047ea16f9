"""Any file in the place of a runtime's records is read, or refused with its name."""

import tempfile
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from lading.embedded.cri.records import Records, StoredImage, Unusable
from lading.kernel.digests import Digest
from tests.fuzz import harness

IMAGE = StoredImage(
    id="sha256:" + "a" * 64,
    handler="kata",
    manifest=Digest.of(b"manifest"),
    media_type="application/vnd.oci.image.manifest.v1+json",
    manifest_bytes=8,
    size_bytes=1024,
    user="65532",
)


def written() -> bytes:
    """A file with one image, two names and a label."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "images.sqlite"
        records = Records(file)
        records.add(IMAGE, names=["registry.example/app:1", IMAGE.id], blobs=[Digest.of(b"layer")])
        records.set_labels("registry.example/app:1", {"pinned": "pinned"})
        records.close()
        return file.read_bytes()


EXAMPLE = written()
PLACES = [at for at, byte in enumerate(EXAMPLE) if byte]
"""Most of a small database is empty."""


PIECES = st.binary(min_size=1, max_size=8) | st.sampled_from([b"\xff" * 64, b"\x00" * 64])


@given(
    changes=st.dictionaries(st.sampled_from(PLACES), PIECES, max_size=8),
    length=st.sampled_from([len(EXAMPLE), len(EXAMPLE) // 2, 100, 0]),
)
@example(changes={EXAMPLE.index(b"sha256:"): b"sha999:"}, length=len(EXAMPLE))
@example(changes={EXAMPLE.index(b"kata"): b"\xff\xff"}, length=len(EXAMPLE))
@example(changes={0: b"no database"}, length=len(EXAMPLE))
@example(changes={3508: b"\xff" * 64}, length=len(EXAMPLE))
@example(changes={27: b"\x00", 3454: b"\xff" * 64}, length=len(EXAMPLE))
def test_any_file_is_read_or_refused(changes: dict[int, bytes], length: int) -> None:
    content = bytearray(EXAMPLE)
    for at, piece in changes.items():
        content[at : at + len(piece)] = piece
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "images.sqlite"
        file.write_bytes(content[:length])
        harness.check(lambda: read_and_write(file), refusals=())


def read_and_write(file: Path) -> None:
    try:
        records = Records(file)
    except Unusable as refusal:
        assert str(file) in str(refusal)
        return
    try:
        for image in records.images():
            records.names_of(image)
        records.named("registry.example/app:1", "kata")
        records.with_id_prefix("sha256:a", "kata")
        records.names()
        records.blobs()
        records.labels()
        records.names_labelled("pinned", "pinned")
        records.add(IMAGE, names=["other"], blobs=[])
        records.remove(IMAGE.id, IMAGE.handler)
    except Unusable as refusal:
        assert str(file) in str(refusal)
    finally:
        records.close()
