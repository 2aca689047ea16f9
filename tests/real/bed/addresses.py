"""Addresses of a sandbox: one subnet of its own, for its pods, its services and its node.

The subnet is written into the folder first, so that a killed run's addresses can be removed later.
"""

import contextlib
import pathlib
import secrets
import subprocess

from tests.real.bed import layout

SUBNETS = tuple(f"198.{second}.{third}" for second in (18, 19) for third in range(256))
"""198.18.0.0/15 is set aside for tests of network devices, so no real network has it."""
ALL = "0/24"
PODS = "0/25"
GATEWAY = "1"
"""The host's end of every pod's device: the first address of all pods."""
SERVICES = "128/26"
API_SERVER = "129"
"""The API server's own service always has the first address of all services."""
NODE = "254"


def subnet(folder: pathlib.Path) -> str:
    """The sandbox's first three numbers, such as 198.18.7; chosen when first asked for."""
    record = folder / layout.SUBNET_NAME
    if not record.exists():
        taken = {_recorded(other) for other in layout.folders()}
        record.write_text(secrets.choice([each for each in SUBNETS if each not in taken]))
    return record.read_text()


def add(folder: pathlib.Path, last_number: str) -> str:
    """An address of the sandbox, on the loopback device until the sandbox ends."""
    address = f"{subnet(folder)}.{last_number}"
    subprocess.run(["ip", "address", "add", f"{address}/32", "dev", "lo"], check=True)
    return address


def remove_all(folder: pathlib.Path) -> None:
    if recorded := _recorded(folder):
        for last_number in (API_SERVER, NODE):
            # Not every sandbox has both, so that nothing to remove is no failure.
            subprocess.run(
                ["ip", "address", "delete", f"{recorded}.{last_number}/32", "dev", "lo"],
                capture_output=True,
                check=False,
            )


def _recorded(folder: pathlib.Path) -> str:
    with contextlib.suppress(FileNotFoundError):
        return (folder / layout.SUBNET_NAME).read_text()
    return ""
