"""Opens what an administrator lets us ask in a cloud."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from lading.boot_images.types import CloudAccess
from lading.ports.clock import Clock


@asynccontextmanager
async def open_clouds(
    clock: Clock, *, aws_credentials_file: Path | None = None
) -> AsyncIterator[CloudAccess]:
    """Without a file of keys no cloud is asked anything."""
    if aws_credentials_file is None:
        yield CloudAccess()
        return
    from lading.adapters.ec2 import client

    async with client.open_client(aws_credentials_file, clock, os.environ) as ec2:
        yield CloudAccess(ec2=ec2)
