"""The differences that are left on purpose, read from known.yaml, and how one is written."""

import difflib
import functools
import pathlib

import msgspec

FILE = pathlib.Path(__file__).with_name("known.yaml")


class Difference(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    scenario: str
    step: str
    reason: str
    """A heading of docs/contributors/fidelity.md."""
    lines: list[str]
    """`- ` before what only the real server prints, `+ ` before what only the embedded one does."""


@functools.cache
def every() -> tuple[Difference, ...]:
    return msgspec.yaml.decode(FILE.read_bytes(), type=tuple[Difference, ...])


def of(scenario: str) -> dict[str, list[str]]:
    """The lines by the title of their step."""
    return {each.step: each.lines for each in every() if each.scenario == scenario}


def difference(real: list[str], embedded: list[str]) -> list[str]:
    compared = difflib.ndiff(real, embedded)
    return [line.rstrip() for line in compared if line.startswith(("- ", "+ "))]
