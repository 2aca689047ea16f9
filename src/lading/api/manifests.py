"""Definitions as YAML text: what `lading crds` prints and `deploy/crds/` holds.

`python -m lading.api.manifests DIRECTORY` writes one file per kind.
"""

import pathlib
import sys

import yaml

from lading.api import catalogue
from lading.api.definitions import Definition

_HEADER = "# Generated from lading.api by `make generate`; do not edit.\n"
_WIDTH_CHARACTERS = 100


def as_yaml(definition: Definition) -> str:
    text = yaml.safe_dump(
        definition.manifest(), sort_keys=False, allow_unicode=True, width=_WIDTH_CHARACTERS
    )
    return _HEADER + text


def files() -> dict[str, str]:
    """File name to content, for every kind."""
    return {f"{d.name}.yaml": as_yaml(d) for d in catalogue.DEFINITIONS}


def write(directory: pathlib.Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in files().items():
        (directory / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]))
