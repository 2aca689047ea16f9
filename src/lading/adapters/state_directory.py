"""The `StateDirectory` port as a folder of this machine."""

from pathlib import Path

import msgspec

from lading.adapters.journal import FileJournal
from lading.adapters.state_file import LocalStateFile


class LocalStateDirectory(msgspec.Struct, frozen=True):
    path: Path

    def file(self, name: str) -> LocalStateFile:
        return LocalStateFile(self.path / name)

    def journal(self, name: str) -> FileJournal:
        return FileJournal(self.path / name)
