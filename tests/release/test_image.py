"""The image of a release, made here: what is in it, and that it starts as its user."""

import io
import json
import re
import shutil
import tarfile
from typing import Any

import pytest

from lading.prepull.types import HOLD_PROGRAM
from release import image
from release.oci import Image

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no C compiler")
PLACES = re.compile(
    r"(opt/lading|usr/local/(bin|lib)|usr/lib|lib\w*|etc/ssl)(/|$)|(opt|etc)$|usr(/local)?$"
)


@pytest.fixture(scope="module")
def made() -> Image:
    return image.build()


def members(made: Image) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(made.blobs[1]), mode="r:gz") as archive:
        return {one.name: one for one in archive}


def settings(made: Image) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(made.blobs[0])["config"]
    return found


def test_every_user_can_read_it_and_it_names_no_folder_of_this_machine(made: Image) -> None:
    found = members(made)
    assert {"opt/lading/bin/lading", "opt/lading/numpy", "usr/local/bin/python3"} <= set(found)
    assert HOLD_PROGRAM.lstrip("/") in found
    for name, one in found.items():
        assert PLACES.match(name), name
        assert (one.uid, one.gid, one.mtime) == (0, 0, 0)
        assert one.mode == (0o755 if one.isdir() or one.mode & 0o100 else 0o644)


def test_it_has_certificate_authorities_where_python_and_obstore_look(made: Image) -> None:
    assert members(made)["etc/ssl/certs/ca-certificates.crt"].size > 0
    assert "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt" in settings(made)["Env"]


def test_modules_are_compiled_without_times(made: Image) -> None:
    with tarfile.open(fileobj=io.BytesIO(made.blobs[1]), mode="r:gz") as archive:
        (name,) = (
            one for one in archive.getnames() if "opt/lading/lading/__pycache__/__init__" in one
        )
        file = archive.extractfile(name)
        assert file
        assert int.from_bytes(file.read(8)[4:], "little") == 1  # by hash, and never checked


def test_it_is_not_root(made: Image) -> None:
    assert settings(made)["User"] == "65532:65532"
    assert settings(made)["Entrypoint"] == ["lading"]
