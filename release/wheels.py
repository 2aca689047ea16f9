"""Writes requirements/wheels.sha256: the wheels of the lock files on every Python and machine.

    python -m release.wheels

A lock has hashes only, so nothing in it shows for which machines there are wheels. Needs a
network: pip chooses the files, and refuses one that the lock does not have.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from packaging.requirements import Requirement

REQUIREMENTS = Path(__file__).parents[1] / "requirements"
LOCKS = ("build", "runtime", "prune", "dev")
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
MACHINES = ("x86_64", "aarch64")
GLIBCS = ("manylinux2014", *(f"manylinux_2_{minor}" for minor in range(17, 29)))
"""Up to the C library of RHEL 8, Debian 11 and Ubuntu 20.04."""

_PIN = re.compile(
    r"^(?P<pin>[^\s#][^\\\n]*?) \\\n(?P<hashes>(?:    --hash=\S+(?: \\)?\n)+)", re.MULTILINE
)


def locked(lock: str) -> list[tuple[Requirement, list[str]]]:
    """Each package of a lock, with the digests of its files."""
    text = (REQUIREMENTS / f"{lock}.txt").read_text(encoding="utf-8")
    return [
        (Requirement(found["pin"]), re.findall(r"sha256:(\S+)", found["hashes"]))
        for found in _PIN.finditer(text)
    ]


def applies(pin: Requirement, python: str, machine: str) -> bool:
    """pip would ask the Python that it runs on, not the one that it installs for."""
    values = {
        "extra": "",
        "implementation_name": "cpython",
        "os_name": "posix",
        "platform_machine": machine,
        "platform_python_implementation": "CPython",
        "platform_system": "Linux",
        "python_full_version": f"{python}.0",
        "python_version": python,
        "sys_platform": "linux",
    }
    return pin.marker is None or pin.marker.evaluate(values)


def chosen(lock: str, python: str, machine: str) -> dict[str, str]:
    """The digest of each wheel by its file name."""
    with tempfile.TemporaryDirectory() as folder:
        report, pins = Path(folder) / "report.json", Path(folder) / "pins.txt"
        pins.write_text(
            "".join(
                f"{pin.name}{pin.specifier} {' '.join(f'--hash=sha256:{one}' for one in digests)}\n"
                for pin, digests in locked(lock)
                if applies(pin, python, machine)
            )
        )
        platforms = [word for glibc in GLIBCS for word in ("--platform", f"{glibc}_{machine}")]
        subprocess.run(
            (
                *(sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed"),
                *(
                    "--ignore-requires-python",
                    "--no-deps",
                    "--quiet",
                    "--only-binary",
                    ":all:",
                    "--require-hashes",
                ),
                *("--python-version", python, *platforms, "--target", folder),
                *("--report", str(report), "-r", str(pins)),
            ),
            check=True,
        )
        found = json.loads(report.read_text())["install"]
    files = [one["download_info"] for one in found]
    return {one["url"].rpartition("/")[2]: one["archive_info"]["hashes"]["sha256"] for one in files}


def main() -> None:
    wheels: dict[str, str] = {}
    for lock in LOCKS:
        for python in PYTHONS:
            for machine in MACHINES:
                wheels |= chosen(lock, python, machine)
    lines = (f"{digest}  {name}\n" for name, digest in sorted(wheels.items()))
    (REQUIREMENTS / "wheels.sha256").write_text("".join(lines))


if __name__ == "__main__":
    main()
