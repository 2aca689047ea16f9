"""The image that `deploy/Containerfile` describes, made without a container engine.

The interpreter, its libraries and the certificate authorities are those of this machine, instead of
those of the base image; the locked dependencies come from its environment. The interpreter is at
the path of the base image, the packages are in a folder of their own. Lading is installed by pip
as there, so that a file missing in the package is missing here too. `make dist` writes it, and
`make real` runs it and compares it with one that an engine builds.
"""

import functools
import importlib.metadata
import io
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Iterable, Iterator

from release import oci
from release.oci import Image

ROOT = pathlib.Path(__file__).parents[1]
PYTHON = pathlib.PurePath("/usr/local/bin/python3")
PACKAGES = pathlib.PurePath("/opt/lading")
CERTIFICATES = pathlib.PurePath("/etc/ssl/certs/ca-certificates.crt")
"""Without them no TLS of a registry can be verified, and obstore opens no storage at all."""
HOLD_PROGRAM = pathlib.PurePath("/usr/local/bin/lading-hold")
_STDLIB = pathlib.PurePath("/usr/local/lib", f"python3.{sys.version_info.minor}")
_UNUSED = ("test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "config-*")
_OF_OTHERS = re.compile("/(site|dist)-packages(/|$)")
_LIBRARY = re.compile(r"(/\S+) \(0x")
"""In a line of ldd; what the kernel itself provides has no path there."""
_COMPRESS_LEVEL = 1
"""A tenth larger than with 9, in a fifth of the time."""
_COMPILE = re.compile(r"^RUN (gcc .*) -o /lading-hold /source/hold.c$", re.MULTILINE)


@functools.cache
def build(source: pathlib.Path = ROOT, *, epoch_seconds: int = 0) -> Image:
    """Of a copy of the repository. The same source gives the same image on the same machine."""
    with tempfile.TemporaryDirectory() as folder:
        stage = pathlib.Path(folder)
        _install_lading(source, _inside(stage, PACKAGES))
        compile_hold(source / "deploy", _inside(stage, HOLD_PROGRAM))
        for path, file in _locked_packages(source):
            _copy(file, _inside(stage, PACKAGES / path))
        _copy_interpreter(stage)
        _copy(pathlib.Path(CERTIFICATES), _inside(stage, CERTIFICATES))
        _compile_modules(stage)
        return oci.of_archive(
            _archive(stage, epoch_seconds),
            settings=_settings(source),
            compress_level=_COMPRESS_LEVEL,
        )


def compile_hold(deploy: pathlib.Path, program: pathlib.Path) -> None:
    """With the command of the Containerfile; needs gcc."""
    found = _COMPILE.search((deploy / "Containerfile").read_text(encoding="utf-8"))
    assert found, "the Containerfile compiles no hold.c"
    program.parent.mkdir(parents=True, exist_ok=True)
    command = [*shlex.split(found[1]), "-o", str(program), str(deploy / "hold.c")]
    subprocess.run(command, check=True, timeout=60)


def _inside(stage: pathlib.Path, path: pathlib.PurePath) -> pathlib.Path:
    return stage / path.relative_to("/")


def _copy(file: pathlib.Path, target: pathlib.Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(file, target)


def _install_lading(source: pathlib.Path, folder: pathlib.Path) -> None:
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
            *("--no-index", "--no-deps", "--no-build-isolation", "--no-compile"),
            *(f"--target={folder}", source),
        ],
        check=True,
    )
    for program in (folder / "bin").iterdir():
        _, _, text = program.read_text(encoding="utf-8").partition("\n")
        program.write_text(f"#!{PYTHON}\n{text}", encoding="utf-8")


def _locked_packages(source: pathlib.Path) -> Iterator[tuple[str, pathlib.Path]]:
    """Each file of every locked dependency, by its path among the packages."""
    lock = (source / "requirements" / "prune.txt").read_text(encoding="utf-8")
    for name in re.findall("^([a-z0-9-]+)==", lock, re.MULTILINE):
        for file in importlib.metadata.files(name) or ():
            # Programs are beside the packages; what pip compiled is compiled again below.
            if ".." not in file.parts and file.suffix != ".pyc":
                yield str(file), pathlib.Path(str(file.locate()))


def _copy_interpreter(stage: pathlib.Path) -> None:
    program = pathlib.Path(sys.executable).resolve()
    stdlib = pathlib.Path(sysconfig.get_path("stdlib"))
    left_out = shutil.ignore_patterns(*_UNUSED, "__pycache__", "site-packages", "dist-packages")
    shutil.copytree(stdlib, _inside(stage, _STDLIB), ignore=left_out)
    _copy(program, _inside(stage, PYTHON))
    modules = [*_inside(stage, _STDLIB).rglob("*.so"), *_inside(stage, PACKAGES).rglob("*.so")]
    linked = _libraries([program, *modules])
    found = [one for one in linked if not one.is_relative_to(stage)]
    (system,) = (one.parent for one in found if one.name.startswith("libc.so"))
    for library in found:
        is_own = library.is_relative_to(sys.base_prefix)
        target = system / library.name if is_own else library
        _copy(library.resolve(), _inside(stage, target))


def _libraries(linked: Iterable[pathlib.Path]) -> list[pathlib.Path]:
    words = ["ldd", *map(str, linked)]
    output = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    found = {pathlib.Path(path) for path in _LIBRARY.findall(output)}
    return sorted(one for one in found if not _OF_OTHERS.search(str(one)))


def _compile_modules(stage: pathlib.Path) -> None:
    """Without times in the files: the root file system is read-only, and must not differ."""
    folders = (_inside(stage, _STDLIB), _inside(stage, PACKAGES))
    subprocess.run(
        [
            *(sys.executable, "-m", "compileall", "-q", "-j0"),
            *("--invalidation-mode=unchecked-hash", f"-s{stage}", "-p/", *folders),
        ],
        stdout=subprocess.DEVNULL,
        check=False,  # packages may hold templates that are no Python
    )


def _archive(stage: pathlib.Path, epoch_seconds: int) -> bytes:
    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        """For every user, whatever the mode is here."""
        member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        member.mtime = epoch_seconds
        return member

    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for path in sorted(stage.rglob("*")):
            archive.add(path, arcname=path.relative_to(stage), recursive=False, filter=plain)
    return content.getvalue()


def _settings(source: pathlib.Path) -> dict[str, object]:
    """The entry point and the user are those of the Containerfile."""
    text = (source / "deploy" / "Containerfile").read_text(encoding="utf-8")
    entry_point = re.search(r"^ENTRYPOINT (\[.*\])$", text, re.MULTILINE)
    user = re.search(r"^USER (\S+)$", text, re.MULTILINE)
    assert entry_point, "the Containerfile has no entry point"
    assert user, "the Containerfile has no user"
    return {
        "User": user[1],
        "Entrypoint": json.loads(entry_point[1]),
        "Env": [
            f"PATH={PACKAGES / 'bin'}:{PYTHON.parent}",
            f"PYTHONPATH={PACKAGES}",
            f"PYTHONHOME={_STDLIB.parents[1]}",
            f"SSL_CERT_FILE={CERTIFICATES}",
        ],
    }
