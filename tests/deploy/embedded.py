"""An embedded API server with everything of `deploy/`, and a client for each identity."""

import contextlib
from collections.abc import AsyncIterator

from lading.adapters.clock import SystemClock
from lading.adapters.kube import discovery
from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.discovery import Catalogue
from lading.embedded.api_server import Authorized
from lading.embedded.kube.authentication import ADMIN, User
from lading.embedded.kube.core import Core
from lading.embedded.kube.storage import memory
from lading.installation import agent_policies, boot_image_policies, controller_policies
from tests.deploy import manifests
from tests.deploy.manifests import AGENT_NAMESPACE, NAMESPACE, Document

STRICT = "Strict"
FIELD_MANAGER = "kubectl"
ACCOUNT = "system:serviceaccount:{}:{}"
AGENT = ACCOUNT.format(AGENT_NAMESPACE, "lading-agent")
NODE_NAME = "authentication.kubernetes.io/node-name"
IDENTITIES = {
    "admin": ADMIN,
    "agent-of-a": User(name=AGENT, extra={NODE_NAME: ("node-a",)}),
    "agent-of-nowhere": User(name=AGENT),
    "in-another-namespace": User(
        name=ACCOUNT.format("images", "lading-agent"), extra={NODE_NAME: ("node-a",)}
    ),
    "controller": User(
        name=ACCOUNT.format("lading-system", "lading-controller"), groups=("system:masters",)
    ),
    "controller-in-another-namespace": User(
        name=ACCOUNT.format("images", "lading-controller"), groups=("system:masters",)
    ),
    "with-a-prefix": User(
        name=ACCOUNT.format(AGENT_NAMESPACE, "my-lading-agent"), extra={NODE_NAME: ("node-a",)}
    ),
    "another-pod": User(
        name=ACCOUNT.format("lading-agent-tests", "default"), extra={NODE_NAME: ("node-a",)}
    ),
}
NOT_EMBEDDED = {"PriorityClass", "NetworkPolicy"}
"""Kinds that only a real API server has; `make real` installs them there."""


def made_policies() -> list[Document]:
    """From the source: the files of `deploy/` are made of it, and may be older."""
    return [
        *agent_policies.agent_policies(namespace=AGENT_NAMESPACE, account=agent_policies.ACCOUNT),
        *controller_policies.controller_policies(namespace=NAMESPACE),
        *boot_image_policies.boot_image_policies(
            namespace=NAMESPACE, account=controller_policies.ACCOUNT
        ),
    ]


@contextlib.asynccontextmanager
async def installed() -> AsyncIterator[dict[str, KubeClient]]:
    """A client for each identity, of a server that has everything of `deploy/`."""
    core = Core(memory.MemoryStorage(), SystemClock(), tokens=IDENTITIES)
    clients = {name: KubeClient(Authorized(core, name)) for name in IDENTITIES}
    try:
        for documents in (manifests.definitions(), manifests.base(), made_policies()):
            catalogue = await discovery.discover(clients["admin"])
            for document in documents:
                if document["kind"] not in NOT_EMBEDDED:
                    await apply(clients["admin"], catalogue, document)
        yield clients
    finally:
        await core.close()


async def apply(client: KubeClient, catalogue: Catalogue, document: Document) -> None:
    resource = catalogue.of_kind(document["apiVersion"], document["kind"])
    await client.apply(resource, document, field_manager=FIELD_MANAGER, field_validation=STRICT)
