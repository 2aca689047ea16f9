"""The Debian packages of debian-packages.txt: installed with apt-get, or unpacked into the cache.

Installing needs root; without it the error has the exact command. Nothing is ever removed to make
room.
"""

import os
import pathlib
import platform
import shutil
import subprocess
import time
from collections.abc import Callable

from tests.real.setup import cache, errors

LIST = pathlib.Path(__file__).parent.parent / "debian-packages.txt"
INSTALL = ["apt-get", "install", "--yes", "--no-install-recommends", "--no-remove"]

Progress = Callable[[str], None]


def packages(how: str) -> tuple[str, ...]:
    lines = (line.split() for line in LIST.read_text().splitlines() if not line.startswith("#"))
    return tuple(package for verb, package in lines if verb == how)


def folder(package: str) -> pathlib.Path:
    """Where an unpacked package's files are, or will be."""
    release = platform.freedesktop_os_release()
    return cache.folder(
        f"debian-{package}", release["ID"], release.get("VERSION_ID", ""), platform.machine()
    )


def ensure(progress: Progress) -> None:
    if not shutil.which("apt-get"):
        raise errors.CannotRunHere(
            "The real components take container tools from Debian, and there is no apt-get here. "
            "Run them on Debian 12 or a container of it."
        )
    missing = _not_installed(packages("install"))
    absent = tuple(name for name in packages("unpack") if not folder(name).is_dir())
    if missing or absent:
        refresh_lists(progress)
    if missing:
        _install(missing, progress)
    for package in absent:
        _unpack(package, progress)


def _not_installed(names: tuple[str, ...]) -> tuple[str, ...]:
    answer = subprocess.run(
        ["dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Status}\n", *names],
        capture_output=True,
        text=True,
        check=False,
    )
    lines = (line.split() for line in answer.stdout.splitlines())
    installed = {package for package, status in lines if status == "installed"}
    return tuple(name for name in names if name not in installed)


def refresh_lists(progress: Progress) -> None:
    """An image without package lists cannot install anything; only root may fetch them."""
    if os.geteuid() == 0:
        run(["apt-get", "update", "--quiet"], "apt-get update", progress)


def _install(missing: tuple[str, ...], progress: Progress) -> None:
    command = [*INSTALL, *missing]
    if os.geteuid() != 0:
        raise errors.CannotRunHere(
            f"{len(missing)} Debian packages are missing and only root may install them. "
            f"Run: sudo {' '.join(command)}"
        )
    run(command, f"apt-get install {' '.join(missing)}", progress)


def _unpack(package: str, progress: Progress) -> None:
    with cache.filling(folder(package)) as temporary:
        download = temporary / "download"
        download.mkdir()
        run(["apt-get", "download", package], f"unpack {package}", progress, download)
        (archive,) = download.glob("*.deb")
        subprocess.run(["dpkg", "-x", archive, temporary], check=True)
        shutil.rmtree(download)


def run(
    command: list[str], title: str, progress: Progress, folder: pathlib.Path | None = None
) -> None:
    started = time.monotonic()
    answer = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode:
        raise errors.CannotRunHere(f"`{' '.join(command)}` failed:\n{answer.stderr.strip()}")
    progress(f"{title}: {time.monotonic() - started:.0f} s")
