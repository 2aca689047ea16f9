"""An image as an OCI layout in one file: every descriptor names what is there."""

import json
import tarfile
from pathlib import Path
from typing import Any

from release import oci


def read(file: Path) -> dict[str, bytes]:
    with tarfile.open(file) as archive:
        return {one.name: _content(archive, one) for one in archive}


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    assert file
    return file.read()


def test_a_layout_holds_what_its_index_names(tmp_path: Path) -> None:
    image = oci.of_archive(b"a tar", settings={"User": "65532"})
    oci.write_layout(image, tmp_path / "image.tar", tag="0.1.0")
    files = read(tmp_path / "image.tar")
    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    (entry,) = json.loads(files["index.json"])["manifests"]
    assert entry["digest"] == image.digest
    assert entry["platform"]["os"] == "linux"
    assert entry["annotations"] == {"org.opencontainers.image.ref.name": "0.1.0"}
    manifest = blob(files, entry)
    config = blob(files, manifest["config"])
    assert config["config"] == {"User": "65532"}
    assert config["rootfs"]["diff_ids"] == [oci.digest_of(b"a tar")]
    assert len(config["history"]) == 1  # of one layer, on which engines can build
    (layer,) = manifest["layers"]
    assert oci.digest_of(files[path(layer)]) == layer["digest"]


def path(descriptor: dict[str, Any]) -> str:
    return f"blobs/{descriptor['digest'].replace(':', '/')}"


def blob(files: dict[str, bytes], descriptor: dict[str, Any]) -> Any:
    content = files[path(descriptor)]
    assert len(content) == descriptor["size"]
    assert oci.digest_of(content) == descriptor["digest"]
    return json.loads(content)


def test_the_same_image_gives_the_same_file(tmp_path: Path) -> None:
    image = oci.of_archive(b"a tar", settings={})
    for name in ("a", "b"):
        oci.write_layout(image, tmp_path / name, tag="1")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
