"""`deploy/hold.c`, compiled with the command of the Containerfile."""

import re
import shlex
import subprocess
from pathlib import Path

from tests.deploy.manifests import DEPLOY

_COMMAND = re.compile(r"^RUN (gcc .*) -o /lading-hold /source/hold.c$", re.MULTILINE)


def compiled(folder: Path) -> Path:
    """The static program; needs gcc."""
    found = _COMMAND.search((DEPLOY / "Containerfile").read_text(encoding="utf-8"))
    assert found, "the Containerfile compiles no hold.c"
    program = folder / "hold"
    subprocess.run(
        [*shlex.split(found[1]), "-o", program, DEPLOY / "hold.c"], check=True, timeout=60
    )
    return program
