"""Where a secret could be read after a whole run: logs, metrics, objects, files, arguments."""

import contextlib
import io
import os
import sqlite3
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import prometheus_client
from prometheus_client import CollectorRegistry

arguments: list[str] = []
"""Of all processes that this one started since the module was loaded."""


def _note_arguments(event: str, details: tuple[Any, ...]) -> None:
    if event == "subprocess.Popen":
        arguments.append(" ".join(map(os.fsdecode, details[1])))


sys.addaudithook(_note_arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A whole cluster with planted secrets, in a folder of its own."""

    folder: Path
    debug_logs: io.StringIO
    metrics: list[CollectorRegistry]

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def shown_metrics(self) -> str:
        return "".join(prometheus_client.generate_latest(one).decode() for one in self.metrics)


def stored_objects(data: Path) -> dict[str, str]:
    """Every revision of every object, as text, by resource."""
    found: dict[str, str] = {}
    with contextlib.closing(sqlite3.connect(data / "api.sqlite")) as database:
        for resource, body in database.execute("SELECT resource, body FROM changes"):
            found[resource] = found.get(resource, "") + body.decode()
    return found


def open_files(folder: Path, *, without: Path) -> dict[str, str]:
    """All that others may read, but for one folder below."""
    found = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {
        str(path.relative_to(folder)): path.read_bytes().decode(errors="replace")
        for path in found
        if path.stat().st_mode & 0o077 and without not in path.parents
    }
