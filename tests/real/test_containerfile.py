"""`deploy/Containerfile`, built with an engine, gives what release/image.py makes without one.

The base is not the one that the file names, but a stand-in with the Python of Debian.
"""

import io
import json
import re
import tarfile
from pathlib import Path

import pytest

from lading import __version__
from release import image as release_image
from release import oci
from release.image import HOLD_PROGRAM, PACKAGES
from tests.deploy.manifests import DEPLOY
from tests.real.bed import buildah
from tests.real.bed.buildah import Container

pytestmark = pytest.mark.components("image")
OF_INSTALLATION = re.compile(r"\.pyc$|\.dist-info/(RECORD|direct_url\.json)$")
"""Files that pip writes: they name the place of the installation, or its time."""
LIBRARIES = """
import json, os, ssl, numpy, obstore
from obstore.store import S3Store
S3Store("bucket", region="us-east-1")
authorities = ssl.create_default_context().get_ca_certs()
print(json.dumps({"user": os.getuid(), "group": os.getgid(), "authorities": len(authorities)}))
"""
COMPILERS = "for name in gcc cc ld; do command -v $name; done; true"
HOLD = 'timeout 1 "$0"; test $? = 124'


def test_the_image_that_an_engine_builds(tmp_path: Path) -> None:
    """One test, so that one build serves all checks however tests are distributed."""
    with buildah.built(DEPLOY / "Containerfile", context=DEPLOY.parent) as container:
        _its_programs_run_as_the_user_without_rights(container)
        _nothing_of_the_build_is_left(container)
        _it_has_the_packages_and_settings_of_the_image_made_without_an_engine(container, tmp_path)


def _packages(container: Container) -> Path:
    (found,) = container.root.glob("usr/local/lib/python3*/dist-packages")
    return found


def _files_of_lading(folder: Path) -> dict[str, str]:
    """The digest of each file, by its path among the packages."""
    paths = (one for name in ("lading", "lading-*") for one in folder.glob(f"{name}/**/*"))
    named = {str(path.relative_to(folder)): path for path in paths if path.is_file()}
    kept = {name: path for name, path in named.items() if not OF_INSTALLATION.search(name)}
    return {name: oci.digest_of(path.read_bytes()) for name, path in kept.items()}


def _versions(folder: Path) -> set[str]:
    """The name and version of each package; which numpy is locked depends on that of Python."""
    return {re.sub("^numpy-.*", "numpy", one.name) for one in folder.glob("*.dist-info")}


def _released(folder: Path) -> Path:
    """The packages of the image that is made without an engine."""
    with tarfile.open(fileobj=io.BytesIO(release_image.build().blobs[1]), mode="r:gz") as archive:
        archive.extractall(folder, filter="data")
    return folder / PACKAGES.relative_to("/")


def _it_has_the_packages_and_settings_of_the_image_made_without_an_engine(
    container: Container, tmp_path: Path
) -> None:
    own = _released(tmp_path)
    mine = _files_of_lading(_packages(container))
    assert "lading/__init__.py" in mine
    assert mine == _files_of_lading(own)
    assert _versions(_packages(container)) == _versions(own)
    settings = json.loads(release_image.build().blobs[0])["config"]
    for name in ("User", "Entrypoint"):
        assert container.settings[name] == settings[name]


def _its_programs_run_as_the_user_without_rights(container: Container) -> None:
    entry_point = container.settings["Entrypoint"]
    assert f"lading: {__version__}" in container.run(*entry_point, "version")
    assert "--confirm" in container.run(*entry_point, "prune", "images", "--help")
    container.run("sh", "-c", HOLD, str(HOLD_PROGRAM))
    found = json.loads(container.run("python3", "-c", LIBRARIES))
    assert found.pop("authorities") > 0
    assert found == {"user": 65532, "group": 65532}


def _nothing_of_the_build_is_left(container: Container) -> None:
    assert container.run("sh", "-c", COMPILERS) == ""
    root = container.root
    assert not any((root / name).exists() for name in ("source", "wheels", "root/.cache"))
    assert not list((root / "tmp").iterdir())
