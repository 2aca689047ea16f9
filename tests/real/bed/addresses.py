"""Addresses on the loopback device: each sandbox that needs one gets its own.

The address is written down before it is added, so that a killed run's address is removed later.
"""

import pathlib
import random
import subprocess

RECORD_NAME = "addresses"


def add(folder: pathlib.Path) -> str:
    """A new address of 10.99.0.0/16 on lo, such as 10.99.17.4, until the sandbox ends."""
    address = f"10.99.{random.randint(2, 254)}.{random.randint(1, 254)}"
    with (folder / RECORD_NAME).open("a") as record:
        record.write(f"{address}\n")
    subprocess.run(["ip", "address", "add", f"{address}/32", "dev", "lo"], check=True)
    return address


def remove_recorded(folder: pathlib.Path) -> None:
    record = folder / RECORD_NAME
    for address in record.read_text().split() if record.exists() else ():
        # It may be recorded and not added: a run can be killed between the two.
        subprocess.run(
            ["ip", "address", "delete", f"{address}/32", "dev", "lo"],
            capture_output=True,
            check=False,
        )
