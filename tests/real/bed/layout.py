"""The names by which a sandbox is known on the host, now and to a later run."""

import pathlib
import tempfile

FOLDER_PREFIX = "lading-real-"
LOCK_NAME = "lock"
"""Held by the run that owns the folder; the kernel frees it when that run ends."""
SUBNET_NAME = "subnet"
"""The first three numbers of the sandbox's own addresses."""
HOST_NAME = "host"
"""The sandbox's own /run, /var/lib and the like, as folders that the test run sees too."""
DISK_NAME = "host.img"
"""The disk of that host."""
MARK = "LADING_REAL_SANDBOX"
"""The variable that tells a process of which sandbox it is; its value is the folder."""


def host_root(folder: pathlib.Path) -> pathlib.Path:
    """Where the host of a sandbox is seen from outside, as a DaemonSet mounts it."""
    return folder / HOST_NAME


def folders() -> list[pathlib.Path]:
    """The sandboxes of this machine, of all runs."""
    return sorted(pathlib.Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*"))
