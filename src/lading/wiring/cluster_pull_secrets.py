"""Pull secrets that a person names in a cluster, read with that person's rights."""

from collections.abc import Sequence

from lading.adapters.kube.client import KubeClient
from lading.adapters.registry import pull_secrets
from lading.adapters.registry.auth_files import AuthFile
from lading.api.core import SECRETS
from lading.kernel.objects import Key
from lading.ports import kube


class UnusablePullSecret(Exception):
    """A Secret that was named does not exist, or has no credential that can be read."""


async def read(client: KubeClient, keys: Sequence[Key]) -> list[AuthFile]:
    return [await _read(client, key) for key in keys]


async def _read(client: KubeClient, key: Key) -> AuthFile:
    try:
        secret = await client.get(SECRETS, key.name, namespace=key.namespace)
    except kube.NotFound as error:
        raise UnusablePullSecret(f"pull secret {key} does not exist") from error
    file = pull_secrets.parse(secret.data, name=f"secret {key}")
    if file.problems and not file.credential_by_pattern:
        raise UnusablePullSecret("; ".join(file.problems))
    return file
