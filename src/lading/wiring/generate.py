"""Writes the files that follow from the features: `python -m lading.wiring.generate`.

`files` is what they must contain; a test compares it with what is there.
"""

import sys
from pathlib import Path

from lading.api import manifests
from lading.wiring.features import DEFINITIONS


def files() -> dict[Path, str]:
    """The content of each generated file, by its path in the repository."""
    return {Path("deploy/crds", f"{one.name}.yaml"): manifests.as_yaml(one) for one in DEFINITIONS}


def write(repository: Path) -> None:
    for path, content in files().items():
        file = repository / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
