"""The packages of a lock file, and the software bill of materials of a release: CycloneDX JSON.

The same lock gives the same document, byte for byte.
"""

import pathlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

ROOT = pathlib.Path(__file__).parents[1]
LOCK = ROOT / "requirements" / "image.txt"
"""All packages of the image."""
_PINNED = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^ ;\\]+)")
_BECAUSE = re.compile(r" +#   +(\S+)| +# via (\S+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    name: str
    version: str
    needed_by: tuple[str, ...]
    """The packages of the lock, or the project with the file that names it."""

    @property
    def url(self) -> str:
        """The package URL, by which SBOMs and vulnerability databases name it."""
        return f"pkg:pypi/{self.name}@{self.version}"


def packages(text: str) -> tuple[Package, ...]:
    """Raises ValueError for a requirement that is not pinned."""
    return tuple(_packages(text))


def _packages(text: str) -> Iterator[Package]:
    for block in re.split(r"\n(?=\S)", text.strip()):
        head, *lines = block.splitlines()
        found = _PINNED.match(head)
        if found is None:
            raise ValueError(f"{head!r}: expected NAME==VERSION; make the lock with `make lock`")
        because = (_BECAUSE.fullmatch(line.partition(" (")[0]) for line in lines)
        needed_by = tuple(match[1] or match[2] for match in because if match)
        yield Package(name=found[1], version=found[2], needed_by=needed_by)


def dependencies(found: tuple[Package, ...], project: str) -> Mapping[str, tuple[str, ...]]:
    """The names that each package needs, the project itself included."""
    names = (project, *(one.name for one in found))
    return {
        name: tuple(sorted({one.name for one in found if name in one.needed_by})) for name in names
    }


def document(project: Package, found: tuple[Package, ...]) -> dict[str, Any]:
    # A lock may have a package in two versions, for two versions of Python.
    urls_by_name: dict[str, list[str]] = {}
    for one in (project, *found):
        urls_by_name.setdefault(one.name, []).append(one.url)
    needed = dependencies(found, project.name)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**_component(project), "type": "application"}},
        "components": [_component(one) for one in found],
        "dependencies": [
            {"ref": ref, "dependsOn": [url for one in names for url in urls_by_name[one]]}
            for name, names in needed.items()
            for ref in urls_by_name[name]
        ],
    }


def _component(package: Package) -> dict[str, str]:
    return {
        "type": "library",
        "bom-ref": package.url,
        "name": package.name,
        "version": package.version,
        "purl": package.url,
    }


def project() -> Package:
    described = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return Package(name=described["name"], version=described["version"], needed_by=())
