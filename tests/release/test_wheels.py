"""Every locked package has a wheel for each Python and machine. Needs no network.

requirements/wheels.sha256 names the files behind the hashes of the locks; `make lock` writes it.
"""

import re
from collections.abc import Iterator
from importlib.metadata import distribution, distributions

import pytest
from packaging import tags
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from release.wheels import GLIBCS, LOCKS, MACHINES, PYTHONS, REQUIREMENTS, applies, locked


def wheels() -> Iterator[tuple[str, str]]:
    for line in (REQUIREMENTS / "wheels.sha256").read_text(encoding="utf-8").splitlines():
        digest, name = line.split()
        yield digest, name


def accepted(python: str, machine: str) -> frozenset[tags.Tag]:
    version = tuple(int(part) for part in python.split("."))
    platforms = [f"{glibc}_{machine}" for glibc in GLIBCS]
    interpreter = f"cp{python.replace('.', '')}"
    return frozenset(tags.cpython_tags(version, platforms=platforms)) | frozenset(
        tags.compatible_tags(version, interpreter, platforms)
    )


def without_a_wheel(lock: str, python: str, machine: str) -> list[str]:
    can_run = accepted(python, machine)
    found = {
        (name, str(version), digest)
        for digest, file in wheels()
        for name, version, _, file_tags in [parse_wheel_filename(file)]
        if file_tags & can_run
    }
    return [
        str(pin)
        for pin, digests in locked(lock)
        if applies(pin, python, machine)
        and not any(
            (canonicalize_name(pin.name), str(pin.specifier).removeprefix("=="), digest) in found
            for digest in digests
        )
    ]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("lock", LOCKS)
def test_every_package_has_a_wheel(lock: str, python: str, machine: str) -> None:
    assert without_a_wheel(lock, python, machine) == []


@pytest.mark.parametrize("lock", LOCKS)
def test_every_pin_is_read(lock: str) -> None:
    text = (REQUIREMENTS / f"{lock}.txt").read_text(encoding="utf-8")
    pins = re.findall(r"^\S+==", text, re.MULTILINE)
    assert len(pins) == len(locked(lock)) > 0


def test_another_python_has_no_wheels_of_extensions() -> None:
    """The check can fail: nothing here is built for Python 3.7."""
    assert any("msgspec" in pin for pin in without_a_wheel("runtime", "3.7", "x86_64"))
    assert any("msgspec" in pin for pin in without_a_wheel("runtime", "3.14", "riscv64"))


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_pins_a_package_with_the_extras_that_others_want(lock: str) -> None:
    """Without them pip looks for the newest version, and refuses it because it has no hash."""
    pinned = {canonicalize_name(pin.name): pin.extras for pin, _ in locked(lock)}
    for name in pinned.keys() & {canonicalize_name(one.name) for one in distributions()}:
        for text in distribution(name).requires or ():
            wanted = Requirement(text)
            is_wanted = wanted.marker is None or wanted.marker.evaluate({"extra": ""})
            if wanted.extras and is_wanted:
                missing = wanted.extras - pinned[canonicalize_name(wanted.name)]
                assert not missing, f"{name} wants {wanted}"
