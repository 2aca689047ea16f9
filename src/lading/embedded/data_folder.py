"""The data folder of a standalone cluster and its secrets, for its user only.

A user who owns or can write such a file could put a token of their own into it.
"""

import os
import secrets
import shlex
import stat
from pathlib import Path

from lading import files

SECRET_BYTES = 32
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class UnsafeFile(Exception):
    """A folder or a file that another user owns or can write."""


def prepare(folder: Path) -> None:
    """Makes or checks the folder; then no other user can read it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.stat()
    _check_owner(folder, found)
    if any(folder.iterdir()):
        _check_mode(folder, found)
    folder.chmod(0o700)


def secret(path: Path) -> str:
    """Reads the secret in a file, or makes one."""
    kept = _read_private(path)
    if kept:
        return kept
    made = secrets.token_urlsafe(SECRET_BYTES)
    write_private(path, made)
    return made


def write_private(path: Path, text: str) -> None:
    """Writes a file that only its owner can ever read."""
    files.write_atomically(path, text.encode(), mode=0o600)


def _read_private(path: Path) -> str:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), encoding="utf-8") as file:
            found = os.fstat(file.fileno())
            _check_owner(path, found)
            _check_mode(path, found)
            return file.read().strip()
    except FileNotFoundError:
        return ""


def _check_owner(path: Path, found: os.stat_result) -> None:
    if found.st_uid != os.geteuid():
        raise UnsafeFile(
            f"{path} belongs to the user with the ID {found.st_uid}, expected {os.geteuid()};"
            " choose a folder of your own with --state-dir"
        )


def _check_mode(path: Path, found: os.stat_result) -> None:
    if found.st_mode & _OTHERS_WRITE:
        raise UnsafeFile(
            f"{path} can be written by other users (mode {found.st_mode & 0o777:04o}); choose"
            " another folder with --state-dir, or if you trust its content, run"
            f" chmod -R go-w {shlex.quote(str(path))}"
        )
