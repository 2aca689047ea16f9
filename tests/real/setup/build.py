"""Builds one family of Go binaries into the cache, once per (module, flags, Go version)."""

import dataclasses
import pathlib
import subprocess
import time
from collections.abc import Callable

from tests.real.setup import cache, errors, families, golang

Progress = Callable[[str], None]


def folder(family: families.Family) -> pathlib.Path:
    """Where the family's binaries are, or will be."""
    return cache.folder(
        family.name,
        (family.folder / "go.mod").read_text(),
        (family.folder / "go.sum").read_text(),
        repr(dataclasses.astuple(family)),
        " ".join(family.build_flags()),
        golang.version(),
    )


def ensure(family: families.Family, progress: Progress) -> pathlib.Path:
    golang.require(family.go_version, for_whom=f"{family.name} {family.version}")
    target = folder(family)
    if not target.is_dir():
        with cache.filling(target) as temporary:
            for binary in family.binaries:
                _build(family, binary, temporary / "bin", progress)
    return target


def _build(
    family: families.Family, binary: families.Binary, output: pathlib.Path, progress: Progress
) -> None:
    progress(f"building {binary.name} {family.version} ...")
    started = time.monotonic()
    output.mkdir(exist_ok=True)
    if binary.c_sources:
        _compile_c(family, binary, output)
    else:
        _compile_go(family, binary, output)
    progress(f"built {binary.name} in {time.monotonic() - started:.0f} s")


def _compile_go(family: families.Family, binary: families.Binary, output: pathlib.Path) -> None:
    verb = ["test", "-c"] if binary.is_test else ["build"]
    golang.run(
        [*verb, *family.build_flags(), "-o", str(output / binary.name), binary.package],
        folder=family.folder,
        # Vendoring, workspaces and other Go versions of this machine must not change the outcome.
        variables={
            "CGO_ENABLED": "1" if family.cgo else "0",
            "GOFLAGS": "-mod=readonly",
            "GOWORK": "off",
        },
    )


def _compile_c(family: families.Family, binary: families.Binary, output: pathlib.Path) -> None:
    module = golang.run(
        ["list", "-m", "-f", "{{.Dir}}", family.module], folder=family.folder, variables={}
    )
    sources = sorted((pathlib.Path(module.strip()) / binary.c_sources).glob("*.c"))
    answer = subprocess.run(
        ["gcc", "-O2", "-o", output / binary.name, *sources],
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode:
        raise errors.CannotRunHere(f"gcc could not build {binary.name}: {answer.stderr}")
