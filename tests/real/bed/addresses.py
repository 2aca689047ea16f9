"""Addresses of a sandbox: one subnet of its own, for its pods and for the node's own address.

The subnet is written into the folder first, so that a killed run's address can be removed later.
"""

import contextlib
import pathlib
import random
import subprocess

from tests.real.bed import layout

SUBNETS = tuple(f"198.{second}.{third}" for second in (18, 19) for third in range(256))
"""198.18.0.0/15 is set aside for tests of network devices, so no real network has it."""


def subnet(folder: pathlib.Path) -> str:
    """The sandbox's first three numbers, such as 198.18.7; chosen when first asked for."""
    record = folder / layout.SUBNET_NAME
    if not record.exists():
        taken = {_recorded(other) for other in layout.folders()}
        record.write_text(random.choice([each for each in SUBNETS if each not in taken]))
    return record.read_text()


def add_node_address(folder: pathlib.Path) -> str:
    """The node's own address, on the loopback device until the sandbox ends."""
    address = f"{subnet(folder)}.254"
    subprocess.run(["ip", "address", "add", f"{address}/32", "dev", "lo"], check=True)
    return address


def remove_node_address(folder: pathlib.Path) -> None:
    if recorded := _recorded(folder):
        # Not every sandbox has a node, so that nothing to remove is no failure.
        subprocess.run(
            ["ip", "address", "delete", f"{recorded}.254/32", "dev", "lo"],
            capture_output=True,
            check=False,
        )


def _recorded(folder: pathlib.Path) -> str:
    with contextlib.suppress(FileNotFoundError):
        return (folder / layout.SUBNET_NAME).read_text()
    return ""
