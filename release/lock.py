"""The packages of a lock file: names, versions, and which of them each one needs. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_PINNED = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^ ;\\]+)")
_BECAUSE = re.compile(r" +#   +(\S+)| +# via (\S+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    name: str
    version: str
    needed_by: tuple[str, ...]
    """The packages of the lock, or the project with the file that names it."""

    @property
    def url(self) -> str:
        """The package URL, by which SBOMs and vulnerability databases name it."""
        return f"pkg:pypi/{self.name}@{self.version}"


def packages(text: str) -> tuple[Package, ...]:
    """Raises ValueError for a requirement that is not pinned."""
    return tuple(_packages(text))


def _packages(text: str) -> Iterator[Package]:
    for block in re.split(r"\n(?=\S)", text.strip()):
        head, *lines = block.splitlines()
        found = _PINNED.match(head)
        if found is None:
            raise ValueError(f"{head!r}: expected NAME==VERSION; make the lock with `make lock`")
        because = (_BECAUSE.fullmatch(line.partition(" (")[0]) for line in lines)
        needed_by = tuple(match[1] or match[2] for match in because if match)
        yield Package(name=found[1], version=found[2], needed_by=needed_by)


def dependencies(found: tuple[Package, ...], project: str) -> Mapping[str, tuple[str, ...]]:
    """The names that each package needs, the project itself included."""
    names = (project, *(one.name for one in found))
    return {
        name: tuple(sorted({one.name for one in found if name in one.needed_by})) for name in names
    }
