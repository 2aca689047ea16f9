"""The software bill of materials of a release: CycloneDX JSON, made of the lock.

It has the packages that run with Lading. The same lock gives the same document, byte for byte.
"""

import pathlib
import tomllib
from typing import Any

from release import lock
from release.lock import Package

ROOT = pathlib.Path(__file__).parents[1]
LOCK = ROOT / "requirements" / "prune.txt"
"""All packages of the image, those of the pruner too."""


def document(project: Package, found: tuple[Package, ...]) -> dict[str, Any]:
    # A package may be there in two versions, for two versions of Python.
    urls_by_name: dict[str, list[str]] = {}
    for one in (project, *found):
        urls_by_name.setdefault(one.name, []).append(one.url)
    needed = lock.dependencies(found, project.name)
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
