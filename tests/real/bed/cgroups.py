"""Control groups of a sandbox: its own (for the kubelet) and those of its containers.

Groups are kernel objects outside every namespace we use, so they are removed by name: the
sandbox's name, and the ids that the runtimes' state folders still list.
"""

import contextlib
import os
import pathlib
import re

HIERARCHIES = pathlib.Path("/sys/fs/cgroup")
CONTAINER_ID = re.compile("[0-9a-f]{64}")
CONTAINER_STATE_FOLDERS = ("**/io.containerd.runtime.v2.task/*/*", "**/overlay-containers/*")


def create(folder: pathlib.Path) -> str:
    """The sandbox's own group in every hierarchy; returns its path as a kubelet writes it."""
    for hierarchy in _hierarchies():
        (hierarchy / folder.name).mkdir(exist_ok=True)
    return f"/{folder.name}"


def remove(folder: pathlib.Path) -> None:
    names = {folder.name, *_container_ids(folder)}
    for hierarchy in _hierarchies():
        for path, _folders, _files in os.walk(hierarchy, topdown=False):
            if any(part.endswith(name) for name in names for part in pathlib.Path(path).parts):
                # A group that is not empty is not ours alone, and stays.
                with contextlib.suppress(OSError):
                    pathlib.Path(path).rmdir()


def _container_ids(folder: pathlib.Path) -> set[str]:
    paths = (path for pattern in CONTAINER_STATE_FOLDERS for path in folder.glob(pattern))
    return {path.name for path in paths if CONTAINER_ID.fullmatch(path.name)}


def _hierarchies() -> list[pathlib.Path]:
    if (HIERARCHIES / "cgroup.controllers").exists():
        return [HIERARCHIES]
    return [path for path in HIERARCHIES.iterdir() if path.is_dir() and not path.is_symlink()]
