"""Verdicts by (repository, tag or digest), in one dictionary for each repository. Pure.

A million tuples as keys would need more memory than the verdicts.
"""

from collections.abc import Iterator, MutableMapping

from lading.pruning.engine.types import Verdict


class Verdicts(MutableMapping[tuple[str, str], Verdict]):
    def __init__(self) -> None:
        self._by_repository: dict[str, dict[str, Verdict]] = {}

    def __getitem__(self, place: tuple[str, str]) -> Verdict:
        return self._by_repository[place[0]][place[1]]

    def __setitem__(self, place: tuple[str, str], verdict: Verdict) -> None:
        self._by_repository.setdefault(place[0], {})[place[1]] = verdict

    def __delitem__(self, place: tuple[str, str]) -> None:
        del self._by_repository[place[0]][place[1]]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for repository, own in self._by_repository.items():
            for name in own:
                yield repository, name

    def __len__(self) -> int:
        return sum(map(len, self._by_repository.values()))
