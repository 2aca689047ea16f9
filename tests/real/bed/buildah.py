"""Debian's buildah, unmodified, in a sandbox: builds deploy/Containerfile and runs the result.

A build has no network: its base and the locked packages are those of the set-up. The image is kept
in the cache, so that the tests of one checkout build it once.
"""

import contextlib
import dataclasses
import fcntl
import hashlib
import json
import pathlib
import shutil
import time
from collections.abc import Iterator
from typing import Any

from tests.deploy.manifests import DEPLOY
from tests.real.bed import images, sandbox
from tests.real.setup import base_image, binaries, cache

ROOT = DEPLOY.parent
SOURCES = ("deploy/Containerfile", "deploy/hold.c", "pyproject.toml", "README.md", "LICENSE", "src")
"""What the Containerfile copies, but for the locks."""
BASE = "localhost/base"
BUILT = "localhost/built"
ARCHIVE = "image.tar"
TRUST_ALL = {"default": [{"type": "insecureAcceptAnything"}]}
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ISOLATION = "--isolation=chroot"
"""Works without control groups and without a runtime."""
PACKAGES = "/locked"
PIP_SETTINGS = f"[global]\nno-index = true\nfind-links = {PACKAGES}\n"
KEPT_SECONDS = 24 * 3600
"""Images of older checkouts are removed from the cache after a day."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """Of the image that was built."""

    place: sandbox.Sandbox
    name: str
    root: pathlib.Path
    """Its file system, as this process reaches it."""
    settings: dict[str, Any]
    """Those of the image, such as User and Entrypoint."""

    def run(self, *command: str) -> str:
        """What the command printed, as the user of the image."""
        return _buildah(self.place, "run", ISOLATION, self.name, "--", *command)


def image() -> images.Image:
    return images.read_archive(_archive())


@contextlib.contextmanager
def container() -> Iterator[Container]:
    archive = _archive()
    with _prepared() as place:
        loaded = _buildah(place, "pull", "--quiet", f"oci-archive:{archive}").strip()
        name = _buildah(place, "from", "--pull-never", loaded).strip()
        mounted = _buildah(place, "mount", name).strip()
        inspected = json.loads(_buildah(place, "inspect", name))
        yield Container(
            place=place,
            name=name,
            root=pathlib.Path(f"/proc/{place.init_pid}/root{mounted}"),
            settings=inspected["OCIv1"]["config"],
        )


def _archive() -> pathlib.Path:
    """The image of this checkout, as an OCI layout in one file."""
    base, packages = base_image.folder(), base_image.wheels()
    target = cache.folder("lading-image", base.name, packages.name, *_digests())
    with (cache.root() / ".lading-image.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the workers of a run need it at the same time
        if not target.is_dir():
            _remove_old()
            with cache.filling(target) as temporary, _prepared() as place:
                _build(place, binaries.existing(base / base_image.FILES), packages)
                _buildah(place, "push", "--quiet", BUILT, f"oci-archive:{temporary / ARCHIVE}")
    return target / ARCHIVE


def _digests() -> list[str]:
    files = sorted(
        one
        for name in SOURCES
        for one in (ROOT / name, *(ROOT / name).rglob("*"))
        if one.is_file() and one.suffix != ".pyc"
    )
    return [f"{one.relative_to(ROOT)} {_sha256(one)}" for one in files]


def _sha256(file: pathlib.Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _remove_old() -> None:
    for folder in cache.root().glob("lading-image-*"):
        if folder.stat().st_mtime < time.time() - KEPT_SECONDS:
            shutil.rmtree(folder)


@contextlib.contextmanager
def _prepared() -> Iterator[sandbox.Sandbox]:
    with sandbox.sandbox() as place:
        folder = place.make_host_folder(pathlib.Path("/etc/containers"))
        (folder / "policy.json").write_text(json.dumps(TRUST_ALL))
        yield place


def _build(place: sandbox.Sandbox, base: pathlib.Path, packages: pathlib.Path) -> None:
    name = _buildah(place, "from", "scratch").strip()
    _buildah(place, "add", "--quiet", name, str(base), "/")
    _buildah(place, "config", f"--env={PATH}", name)
    _buildah(place, "commit", "--quiet", "--rm", name, BASE)
    settings = place.folder / "pip.conf"
    settings.write_text(PIP_SETTINGS)
    _buildah(
        place,
        *(
            "build",
            "--layers",
            ISOLATION,
            "--pull-never",
            f"--build-arg=BASE={BASE}",
            "--timestamp=0",
        ),
        *(f"--volume={settings}:/etc/pip.conf:ro", f"--volume={packages}:{PACKAGES}:ro"),
        *(f"--file={DEPLOY / 'Containerfile'}", f"--tag={BUILT}", str(ROOT)),
    )


def _buildah(place: sandbox.Sandbox, *arguments: str) -> str:
    program = binaries.unpacked("buildah", "usr/bin/buildah")
    return place.run("unshare", "--net", program, "--storage-driver=overlay", *arguments)
