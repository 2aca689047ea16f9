"""What can be seen of one sandbox on the host: the list that must be empty after its end."""

import contextlib
import json
import pathlib
import subprocess

from tests.real.bed import leftovers


def of(folder: pathlib.Path, *, subnet: str) -> list[str]:
    return [
        *(f"folder {path}" for path in (folder,) if path.exists()),
        *(f"mount {point}" for point in leftovers.mounts_below(folder)),
        *(f"process {process}" for process in _processes(folder)),
        *(f"address {address}" for address in _addresses(subnet)),
        *(f"control group {path}" for path in _control_groups(folder)),
    ]


def _processes(folder: pathlib.Path) -> list[str]:
    """Programs started with a path inside, the sandbox's first process, and its containers."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            texts = [_text(process / name) for name in ("cmdline", "environ", "cgroup")]
            if any(folder.name in text for text in texts):
                found.append(f"{process.name} {texts[0]}")
    return found


def _text(path: pathlib.Path) -> str:
    return path.read_text(errors="replace").replace("\0", " ")


def _addresses(subnet: str) -> list[str]:
    """The node's address on lo, and the pods' devices; their host end has one too."""
    answer = subprocess.run(["ip", "-json", "address"], capture_output=True, check=True)
    return [
        f"{address['local']} on {device['ifname']}"
        for device in json.loads(answer.stdout)
        for address in device["addr_info"]
        if address["local"].startswith(f"{subnet}.")
    ]


def _control_groups(folder: pathlib.Path) -> list[pathlib.Path]:
    return [*pathlib.Path("/sys/fs/cgroup").glob(f"**/{folder.name}")]
