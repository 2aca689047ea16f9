"""`deploy/Containerfile`, built by buildah: what is in the image, and that its programs run.

It is the image of the pods in other tests. The base is not the one that the file names, but a
stand-in with the Python of Debian.
"""

import json
from pathlib import Path

import pytest

from lading import __version__
from lading.prepull.types import HOLD_PROGRAM
from tests.deploy.manifests import DEPLOY
from tests.real.bed import buildah
from tests.real.bed.buildah import Container

pytestmark = pytest.mark.components("image")
SOURCE = DEPLOY.parent / "src"
LIBRARIES = """
import json, os, ssl, botocore, numpy, obstore
from obstore.store import S3Store
S3Store("bucket", region="us-east-1")
authorities = ssl.create_default_context().get_ca_certs()
print(json.dumps({"user": os.getuid(), "group": os.getgid(), "authorities": len(authorities)}))
"""
HOLD = f"""
import subprocess
held = subprocess.Popen(["{HOLD_PROGRAM}"])
try:
    held.wait(1)
except subprocess.TimeoutExpired:
    print("waits")
held.terminate()
print(held.wait(5))
"""


def test_lading_is_a_layer_of_its_own_so_that_an_upgrade_pulls_little() -> None:
    *_, largest = sorted(map(len, buildah.image().blobs))
    own = [len(one) for one in buildah.image().blobs if len(one) != largest]
    assert sum(own) < largest / 10


def test_the_image() -> None:
    """One test, so that one container serves all checks however tests are distributed."""
    with buildah.container() as container:
        _its_programs_run_as_the_user_without_rights(container)
        _it_has_every_file_of_lading_and_compiled_modules(container)
        _it_has_no_shell_no_package_manager_and_no_pip(container)


def _its_programs_run_as_the_user_without_rights(container: Container) -> None:
    assert container.settings["User"] == "65532:65532"
    (entry_point,) = container.settings["Entrypoint"]
    assert f"lading: {__version__}" in container.run(entry_point, "version")
    assert "--confirm" in container.run(entry_point, "prune", "images", "--help")
    assert container.run("python3", "-c", HOLD).split() == ["waits", "0"]
    found = json.loads(container.run("python3", "-c", LIBRARIES))
    assert found.pop("authorities") > 0
    assert found == {"user": 65532, "group": 65532}


def _files(folder: Path) -> set[str]:
    found = (one for one in folder.rglob("*") if one.is_file() and one.suffix != ".pyc")
    return {str(one.relative_to(folder)) for one in found}


def _it_has_every_file_of_lading_and_compiled_modules(container: Container) -> None:
    (packages,) = container.root.glob("usr/local/lib/python3*/*-packages")
    assert _files(packages / "lading") == _files(SOURCE / "lading")
    (compiled,) = (packages / "lading" / "__pycache__").glob("__init__.*.pyc")
    # By hash, and never checked: the times of the files are not those of the build.
    assert int.from_bytes(compiled.read_bytes()[4:8], "little") == 1


def _it_has_no_shell_no_package_manager_and_no_pip(container: Container) -> None:
    folders = ("bin", "sbin", "usr/bin", "usr/sbin", "usr/local/bin", "usr/local/sbin")
    programs = {one.name for name in folders for one in (container.root / name).glob("*")}
    interpreters = {one for one in programs if one.startswith("python3")}
    assert programs - interpreters == {"kubectl-lading", "lading", "lading-hold"}
    assert not list(container.root.rglob("pip"))
    assert not [one for one in ("source", "root", "var", "tmp") if _is_filled(container.root / one)]


def _is_filled(folder: Path) -> bool:
    return folder.is_dir() and any(one.is_file() for one in folder.rglob("*"))
