"""A registry that wants a password, and the pull secret that is mounted on every node for it."""

import contextlib
import json
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.embedded import sample_images
from lading.embedded.registry import server as registry_server
from lading.embedded.registry.access import Passwords
from lading.kernel import references
from lading.ports.registry import Credential, Registry

OWNER = Credential(username="carol", password="right")


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateRegistry:
    host: str
    pull_secrets: Path
    """Where the agents have their pull secret, once it is made."""
    client: Registry

    async def push(self, name: str) -> str:
        sample = sample_images.image([{"content": os.urandom(1024)}])
        reference = references.parse(f"{self.host}/{name}:1")
        return str(await sample_images.push(self.client, reference, sample))

    def make_secret(self) -> None:
        entry = {"username": OWNER.username, "password": OWNER.password}
        beside = self.pull_secrets / "new"
        beside.write_text(json.dumps({"auths": {self.host: entry}}))
        beside.replace(self.pull_secrets / ".dockerconfigjson")

    def delete_secret(self) -> None:
        (self.pull_secrets / ".dockerconfigjson").unlink(missing_ok=True)


@contextlib.asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[PrivateRegistry]:
    secrets = folder / "pull-secrets"
    secrets.mkdir()
    guard = Passwords({OWNER.username: OWNER.password})
    async with (
        registry_server.serve(folder / "private-registry", guard=guard) as url,
        registry_client.connect(SystemClock()) as client,
    ):
        yield PrivateRegistry(
            host=url.removeprefix("http://"),
            pull_secrets=secrets,
            client=client.with_credential(OWNER),
        )
