"""Debian's buildah, unmodified, in a sandbox: builds a Containerfile and runs what came out.

A build has no network: its base and the locked packages are those of the set-up.
"""

import contextlib
import dataclasses
import json
import pathlib
from collections.abc import Iterator
from typing import Any

from tests.real.bed import sandbox
from tests.real.setup import base_image, binaries

BASE = "localhost/base"
BUILT = "localhost/built"
TRUST_ALL = {"default": [{"type": "insecureAcceptAnything"}]}
ISOLATION = "--isolation=chroot"
"""Works without control groups and without a runtime."""
PACKAGES = "/locked"
PIP_SETTINGS = f"[global]\nno-index = true\nfind-links = {PACKAGES}\n"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """Of an image that was built."""

    place: sandbox.Sandbox
    name: str
    root: pathlib.Path
    """Its file system, as this process reaches it."""
    settings: dict[str, Any]
    """Those of the image, such as User and Entrypoint."""

    def run(self, *command: str) -> str:
        """What the command printed, as the user of the image."""
        return _buildah(self.place, "run", ISOLATION, self.name, "--", *command)


@contextlib.contextmanager
def built(file: pathlib.Path, *, context: pathlib.Path) -> Iterator[Container]:
    with sandbox.sandbox() as place:
        _prepare(place)
        _build(place, file, context)
        name = _buildah(place, "from", "--pull-never", BUILT).strip()
        mounted = _buildah(place, "mount", name).strip()
        image = json.loads(_buildah(place, "inspect", "--type=image", BUILT))
        yield Container(
            place=place,
            name=name,
            root=pathlib.Path(f"/proc/{place.init_pid}/root{mounted}"),
            settings=image["OCIv1"]["config"],
        )


def _prepare(place: sandbox.Sandbox) -> None:
    folder = place.make_host_folder(pathlib.Path("/etc/containers"))
    (folder / "policy.json").write_text(json.dumps(TRUST_ALL))
    archive = binaries.existing(base_image.folder() / base_image.ARCHIVE)
    loaded = _buildah(place, "pull", "--quiet", f"oci-archive:{archive}").strip()
    _buildah(place, "tag", loaded, BASE)


def _build(place: sandbox.Sandbox, file: pathlib.Path, context: pathlib.Path) -> None:
    settings = place.folder / "pip.conf"
    settings.write_text(PIP_SETTINGS)
    packages = binaries.existing(base_image.wheels())
    _buildah(
        place,
        # One layer for each step, as podman and docker do without an option.
        *("build", "--layers", ISOLATION, "--pull-never", f"--build-arg=BASE={BASE}"),
        *(f"--volume={settings}:/etc/pip.conf:ro", f"--volume={packages}:{PACKAGES}:ro"),
        *(f"--file={file}", f"--tag={BUILT}", str(context)),
    )


def _buildah(place: sandbox.Sandbox, *arguments: str) -> str:
    program = binaries.unpacked("buildah", "usr/bin/buildah")
    return place.run("unshare", "--net", program, "--storage-driver=overlay", *arguments)
