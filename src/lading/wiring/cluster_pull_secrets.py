"""Pull secrets that a person names in a cluster, read with that person's rights."""

from collections.abc import Sequence

from lading.adapters.kube.client import KubeClient
from lading.adapters.registry import pull_secrets
from lading.adapters.registry.auth_files import AuthFile
from lading.api.core import SECRETS
from lading.kernel.objects import Key


class UnusablePullSecret(Exception):
    """A Secret that was named has no credential that can be read."""


async def read(client: KubeClient, keys: Sequence[Key]) -> list[AuthFile]:
    return [await _read(client, key) for key in keys]


async def _read(client: KubeClient, key: Key) -> AuthFile:
    secret = await client.get(SECRETS, key.name, namespace=key.namespace)
    file = pull_secrets.parse(secret.data, name=f"secret {key}")
    if file.problems and not file.credential_by_pattern:
        raise UnusablePullSecret("; ".join(file.problems))
    return file
