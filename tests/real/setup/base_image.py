"""What a build of deploy/Containerfile takes from a network, made or fetched once, into the cache.

The base is a stand-in of Debian's own packages, because a machine may reach package registries and
no container registry. It has the package lists and the archives of the compiler that the file
installs. The locked packages are beside it. So the build itself needs no network.
"""

import pathlib
import platform
import subprocess
import sys
import tempfile

from tests.real.setup import cache, debian, errors

ROOT = pathlib.Path(__file__).parents[3]
LOCKS = tuple(ROOT / "requirements" / name for name in ("build.txt", "image.txt"))
PYTHON = "/usr/bin/python3"
"""Debian's, also in the base: the same version, and so the same packages, as pip has there."""
FILES = "files.tar"
APT = "APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get --quiet"
BOOTSTRAP = (
    *("mmdebstrap", "--mode=root", "--variant=apt", "--format=tar", "--skip=cleanup/apt"),
    "--include=usr-is-merged,python3,python3-pip,ca-certificates",
    "--dpkgopt=force-unsafe-io",
    # As in images of Python: pip installs among the packages of the system.
    '--customize-hook=rm "$1"/usr/lib/python3*/EXTERNALLY-MANAGED',
    f"--customize-hook={APT} clean",
    f"--customize-hook={APT} --yes --download-only --no-install-recommends install gcc libc6-dev",
    '--customize-hook=rm "$1"/var/cache/apt/*.bin',
    # Without a network, `apt-get update` keeps the lists; it must not try for a minute first.
    """--customize-hook=echo 'Acquire::Retries "0";' > "$1"/etc/apt/apt.conf.d/99no-retries""",
)


def folder() -> pathlib.Path:
    """Where the files of the base are, or will be, as one archive."""
    release = platform.freedesktop_os_release()
    return cache.folder(
        "base-image",
        *(release["ID"], release.get("VERSION_ID", ""), platform.machine()),
        *BOOTSTRAP,
    )


def wheels() -> pathlib.Path:
    """Where the locked packages are, or will be."""
    return cache.folder("wheels", platform.machine(), *(lock.read_text() for lock in LOCKS))


def ensure(progress: debian.Progress) -> pathlib.Path:
    target = folder()
    if not target.is_dir():
        debian.refresh_lists(progress)
        with cache.filling(target) as temporary:
            _make(temporary / FILES, progress)
    if not wheels().is_dir():
        with cache.filling(wheels()) as temporary:
            _download(temporary, progress)
    return target


def _make(files: pathlib.Path, progress: debian.Progress) -> None:
    with tempfile.TemporaryDirectory() as name:
        sources = pathlib.Path(name, "sources.list")
        sources.write_text(_sources())
        suite = platform.freedesktop_os_release()["VERSION_CODENAME"]
        command = ["nice", *BOOTSTRAP, suite, str(files), str(sources)]
        debian.run(command, "building the base image", progress)


def _sources() -> str:
    """The mirrors of Debian that this machine uses, without those of others."""
    line = "deb $(REPO_URI) $(RELEASE) $(COMPONENT)"
    command = ["apt-get", "indextargets", "--format", line]
    answer = subprocess.run(
        [*command, "Created-By: Packages", "Origin: Debian"],
        capture_output=True,
        text=True,
        check=False,
    )
    if not answer.stdout:
        raise errors.CannotRunHere(
            "The base image is made of packages of Debian, and apt-get has no sources of them. "
            f"Check /etc/apt/sources.list and run: apt-get update\n{answer.stderr}"
        )
    return answer.stdout


def _download(target: pathlib.Path, progress: debian.Progress) -> None:
    command = [
        *("nice", sys.executable, "-m", "pip", f"--python={PYTHON}", "download", "--quiet"),
        *("--disable-pip-version-check", "--require-hashes", "--only-binary=:all:"),
        *(f"--requirement={lock}" for lock in LOCKS),
        f"--dest={target}",
    ]
    debian.run(command, "download of the locked packages", progress)
