"""The `StateDirectory` port as a folder of this machine."""

from dataclasses import dataclass
from pathlib import Path

from lading.adapters.journal import FileJournal
from lading.adapters.state_file import LocalStateFile


@dataclass(frozen=True, slots=True)
class LocalStateDirectory:
    path: Path

    def file(self, name: str) -> LocalStateFile:
        return LocalStateFile(self.path / name)

    def journal(self, name: str) -> FileJournal:
        return FileJournal(self.path / name)
