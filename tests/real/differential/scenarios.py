"""The list of kubectl commands, read from commands/*.yaml.

A scenario is a few steps in a namespace of its own. `$NS` in a command or in an object stands for
that namespace, which is also how objects outside of namespaces get a name of their own.
"""

import pathlib
import shlex

import msgspec

FOLDER = pathlib.Path(__file__).parent / "commands"


class Step(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    kubectl: str
    name: str = ""
    """Tells apart steps of a scenario that run the same command."""
    stdin: str = ""
    editor: str = ""
    """The command that `kubectl edit` is given as an editor."""
    keep: str = ""
    """Compares only the lines that this pattern finds; all lines without it."""
    until_exit: int | None = None
    """Asks again until the exit code is this one, for what takes a server some time."""

    @property
    def title(self) -> str:
        return self.name or self.kubectl

    def arguments(self, namespace: str) -> list[str]:
        return shlex.split(self.kubectl.replace("$NS", namespace))

    def input(self, namespace: str) -> str:
        return self.stdin.replace("$NS", namespace)


class Scenario(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    steps: tuple[Step, ...]
    objects: object = None
    """Where YAML anchors are declared; nothing reads it."""


def every() -> tuple[Scenario, ...]:
    found = tuple(
        msgspec.yaml.decode(path.read_bytes(), type=Scenario)
        for path in sorted(FOLDER.glob("*.yaml"))
    )
    for scenario in found:
        titles = [step.title for step in scenario.steps]
        twins = sorted({title for title in titles if titles.count(title) > 1})
        assert not twins, f"{scenario.name}: give a `name` to the steps that repeat {twins}"
    return found
