"""Finds the programs that the set-up put into the cache; it builds and installs nothing."""

import pathlib

from tests.real.setup import build, debian, errors, families


def built(family: str, name: str) -> pathlib.Path:
    """A program of a Go family, such as built("kubernetes", "kubectl")."""
    (found,) = (each for each in families.FAMILIES if each.name == family)
    return existing(build.folder(found) / "bin" / name)


def unpacked(package: str, path: str) -> pathlib.Path:
    """A file of an unpacked Debian package, such as unpacked("runc", "usr/sbin/runc")."""
    return existing(debian.folder(package) / path)


def existing(path: pathlib.Path) -> pathlib.Path:
    if not path.exists():
        raise errors.CannotRunHere(
            f"{path.name} is not in the cache ({path}). Run: python3 -m tests.real.setup"
        )
    return path
