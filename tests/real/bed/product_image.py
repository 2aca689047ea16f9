"""The image that `deploy/Containerfile` describes, made without a container engine.

The interpreter is the one that runs the tests, at the paths it has here, with the libraries it is
linked with; the locked dependencies come from its environment. Lading itself is installed by pip,
as the Containerfile does, so that a file missing in the package is missing in the image too.
"""

import functools
import importlib.metadata
import io
import json
import pathlib
import re
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Iterable, Iterator

from lading.prepull import holder
from tests.deploy import hold_program
from tests.real.bed import images

REPOSITORY = pathlib.Path(__file__).parents[3]
CONTAINERFILE = REPOSITORY / "deploy" / "Containerfile"
LOCKED = REPOSITORY / "requirements" / "prune.txt"
PLACE = pathlib.Path("/opt/lading")
"""Where the packages are in the image."""
UNUSED = re.compile(r"/(test|idlelib|tkinter|turtledemo|ensurepip|lib2to3|config-[^/]*)(/|$)")
OF_OTHERS = re.compile("/(site|dist)-packages(/|$)")
LIBRARY = re.compile(r"(/\S+) \(0x")
"""In a line of ldd; what the kernel itself provides has no path there."""


@functools.cache
def build() -> images.Image:
    """Once in a run: several modules install it."""
    buffer = io.BytesIO()
    with (
        tarfile.open(fileobj=buffer, mode="w") as archive,
        tempfile.TemporaryDirectory() as made,
        tempfile.TemporaryDirectory() as hold,
    ):
        _install_lading(pathlib.Path(made))
        archive.add(made, arcname=PLACE, filter=_readable)
        program = hold_program.compiled(pathlib.Path(hold))
        archive.add(program, arcname=holder.HOLD_PROGRAM, filter=_readable)
        packages = dict(_locked_packages())
        for path, source in packages.items():
            archive.add(source, arcname=PLACE / path, filter=_readable)
        for file in (*_interpreter(), *_libraries(packages.values())):
            archive.add(file.resolve(), arcname=file, filter=_readable)
        archive.add(sysconfig.get_path("stdlib"), filter=_used)
    return images.of_archive(buffer.getvalue(), settings=_settings(), is_compressed=False)


def _install_lading(folder: pathlib.Path) -> None:
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
            *("--no-index", "--no-deps", "--no-build-isolation", f"--target={folder}"),
            REPOSITORY,
        ],
        check=True,
    )


def _locked_packages() -> Iterator[tuple[str, pathlib.Path]]:
    """Each file of every locked dependency, by its path among the packages."""
    for name in re.findall("^([a-z0-9-]+)==", LOCKED.read_text(), re.MULTILINE):
        for file in importlib.metadata.files(name) or ():
            if ".." not in file.parts:  # programs, which are beside the packages
                yield str(file), pathlib.Path(str(file.locate()))


def _interpreter() -> set[pathlib.Path]:
    """By its own name, and by the one that pip writes into a program's first line."""
    program = pathlib.Path(sys.executable)
    return {program, program.resolve()}


def _libraries(packaged: Iterable[pathlib.Path]) -> set[pathlib.Path]:
    modules = pathlib.Path(sysconfig.get_path("stdlib"), "lib-dynload").glob("*.so")
    linked = [*_interpreter(), *modules, *(file for file in packaged if file.suffix == ".so")]
    output = subprocess.run(["ldd", *linked], capture_output=True, text=True, check=True).stdout
    return {pathlib.Path(path) for path in LIBRARY.findall(output) if not OF_OTHERS.search(path)}


def _readable(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """For every user, whatever the mode is here."""
    member.mode |= 0o555 if member.isdir() or member.mode & 0o100 else 0o444
    member.uid = member.gid = 0
    return member


def _used(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    name = f"/{member.name}"
    return None if UNUSED.search(name) or OF_OTHERS.search(name) else _readable(member)


def _settings() -> dict[str, object]:
    entry_point = re.search(r"^ENTRYPOINT (\[.*\])$", CONTAINERFILE.read_text(), re.MULTILINE)
    assert entry_point, f"{CONTAINERFILE} has no entry point"
    return {
        "Entrypoint": json.loads(entry_point[1]),
        "Env": [f"PATH={PLACE / 'bin'}", f"PYTHONPATH={PLACE}"],
    }
