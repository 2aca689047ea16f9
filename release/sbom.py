"""The software bill of materials of a release: CycloneDX JSON, made of the lock.

`python -m release.sbom` prints it for the packages that run with Lading. The same lock gives the
same document, byte for byte.
"""

import json
import pathlib
import tomllib
from typing import Any

from release import lock
from release.lock import Package

ROOT = pathlib.Path(__file__).parents[1]
LOCK = ROOT / "requirements" / "runtime.txt"


def document(project: Package, found: tuple[Package, ...]) -> dict[str, Any]:
    url_by_name = {one.name: one.url for one in (project, *found)}
    needed = lock.dependencies(found, project.name)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**_component(project), "type": "application"}},
        "components": [_component(one) for one in found],
        "dependencies": [
            {"ref": url_by_name[name], "dependsOn": [url_by_name[one] for one in names]}
            for name, names in needed.items()
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


def main() -> None:
    found = lock.packages(LOCK.read_text(encoding="utf-8"))
    print(json.dumps(document(project(), found), indent=2))


if __name__ == "__main__":
    main()
