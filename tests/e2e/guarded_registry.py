"""A registry that wants a password, over TLS with an authority of its own, and another cluster.

Both run in the process of the test, at an address that the pods of a cluster can reach.
"""

import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.adapters.registry import client as registry_client
from lading.adapters.registry.client import RegistryClient
from lading.adapters.registry.credentials import Table
from lading.api.core import PODS
from lading.embedded import sample_images
from lading.embedded.api_server import Authorized
from lading.embedded.kube.authentication import ADMIN
from lading.embedded.kube.core import Core
from lading.embedded.kube.storage.memory import MemoryStorage
from lading.embedded.registry import server
from lading.embedded.registry.access import Passwords
from lading.kernel import references
from lading.ports.registry import Credential
from lading.pruning.engine import registry_url
from lading.wiring.prune import OneRegistry, RegistryTrust
from tests.adapters.kube.certificates import Authority
from tests.cli.prune import openshift

USER, PASSWORD = "carol", "password-of-carol"
REPOSITORY = "team/app"
POLICY = """\
policies:
- repositories: ["team/**"]
  keepTags:
  - patterns: ["keep"]
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedRegistry:
    host: str
    authority_pem: str
    client: RegistryClient
    """That knows the password."""

    async def push(self, tag: str) -> None:
        place = references.parse(f"{self.host}/{REPOSITORY}:{tag}")
        made = sample_images.image([{"cargo.txt": sample_images.noise(tag, 64)}])
        await sample_images.push(self.client, place, made)

    async def tags(self) -> set[str]:
        return set(await self.client.tags(references.parse(f"{self.host}/{REPOSITORY}")))

    @property
    def login(self) -> dict[str, Any]:
        """The data of a Secret of type kubernetes.io/dockerconfigjson."""
        encoded = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        content = json.dumps({"auths": {self.host: {"auth": encoded}}})
        return {".dockerconfigjson": base64.b64encode(content.encode()).decode()}


@asynccontextmanager
async def opened(folder: Path, address: str) -> AsyncIterator[GuardedRegistry]:
    authority = Authority()
    file = folder / "ca.crt"
    file.write_text(authority.pem)
    tls = authority.server_context(folder, address)
    guard = Passwords({USER: PASSWORD})
    async with server.serve(folder / "guarded", host=address, guard=guard, tls=tls) as url:
        host = url.partition("://")[2]
        trust = RegistryTrust(file, insecure=False)
        async with registry_client.connect(
            SystemClock(),
            routing=OneRegistry(registry_url.parse(url), trust),
            credentials=Table({host: Credential(username=USER, password=PASSWORD)}),
        ) as client:
            yield GuardedRegistry(host=host, authority_pem=authority.pem, client=client)


@asynccontextmanager
async def another_cluster(address: str, *, uses: str) -> AsyncIterator[str]:
    """With one pod of that image; gives its kubeconfig."""
    core = Core(MemoryStorage(), SystemClock(), tokens={"t": ADMIN})
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "elsewhere"},
        "spec": {"containers": [{"name": "main", "image": uses}]},
    }
    await KubeClient(Authorized(core, "t")).create(PODS, body, namespace="default")
    async with openshift.reachable(core, host=address) as url:
        yield yaml.safe_dump(openshift.kubeconfig_of(url))
    await core.close()
