"""The names by which a sandbox is known on the host, now and to a later run."""

import pathlib
import tempfile

FOLDER_PREFIX = "lading-real-"
LOCK_NAME = "lock"
"""Held by the run that owns the folder; the kernel frees it when that run ends."""
SUBNET_NAME = "subnet"
"""The first three numbers of the sandbox's own addresses."""
MARK = "LADING_REAL_SANDBOX"
"""The variable that tells a process of which sandbox it is; its value is the folder."""


def folders() -> list[pathlib.Path]:
    """The sandboxes of this machine, of all runs."""
    return sorted(pathlib.Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*"))
