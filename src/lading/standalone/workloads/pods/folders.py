"""The volumes of pods as folders of this machine, which only its user can read."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from lading.standalone.workloads.pods.inputs import ProcessInputs


def write(inputs: ProcessInputs) -> None:
    """Before a process starts; the files of its last start are gone then."""
    if inputs.own_folder:
        shutil.rmtree(inputs.own_folder, ignore_errors=True)
    for folder in inputs.folders:
        Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
    for path, content in inputs.files.items():
        Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)


def remove(root: Path, uid: str) -> None:
    """All volumes of a pod."""
    shutil.rmtree(root / uid, ignore_errors=True)


def keep_only(root: Path, uids: Iterable[str]) -> None:
    """Removes the volumes of pods that were deleted while `lading up` did not run."""
    found = {one.name for one in root.iterdir()} if root.is_dir() else set()
    for uid in found - set(uids):
        remove(root, uid)
