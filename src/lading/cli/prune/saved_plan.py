"""Writes a plan into a file; a reader sees the old file or the new one, never a part."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from lading.pruning.engine.decisions import plan_contents, plan_file
from lading.pruning.engine.types import PrunePlan

if TYPE_CHECKING:
    from lading.pruning.engine.controller import ObservedPruning


def write(file: Path, plan: PrunePlan, observed: "ObservedPruning", *, contents: bool) -> None:
    partial = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with partial.open("wb") as target:
            target.writelines(plan_file.lines(plan))
            if contents:
                inventory, references = observed.inventory, observed.references
                target.writelines(plan_contents.lines(plan, inventory, references))
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)
