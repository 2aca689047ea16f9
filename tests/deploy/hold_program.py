"""`deploy/hold.c`, compiled with the command of the Containerfile."""

import re
import shlex
import subprocess
from pathlib import Path

from tests.deploy.manifests import DEPLOY

_COMPILE = re.compile(r"^RUN (gcc .*) -o \S+ /source/hold.c$", re.MULTILINE)


def compiled(folder: Path) -> Path:
    """The static program; needs gcc."""
    found = _COMPILE.search((DEPLOY / "Containerfile").read_text(encoding="utf-8"))
    assert found, "the Containerfile compiles no hold.c"
    program = folder / "hold"
    command = [*shlex.split(found[1]), "-o", str(program), str(DEPLOY / "hold.c")]
    subprocess.run(command, check=True, timeout=60)
    return program
