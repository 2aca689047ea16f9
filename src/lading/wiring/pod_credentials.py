"""The credentials for an image of a pod: those of its pull secrets, then those of the node."""

from collections.abc import Sequence

import structlog

from lading.adapters.registry import pull_secrets
from lading.adapters.registry.credentials import Table
from lading.api.core import SECRETS
from lading.kernel.errors import Malformed
from lading.ports import kube
from lading.ports.kube import Kube
from lading.ports.registry import Credential
from lading.wiring.registries import ImageCredentials, Registries

log = structlog.get_logger(__name__)


async def find(
    api: Kube, registries: Registries, *, namespace: str, secrets: Sequence[str], image: str
) -> tuple[Credential, ...]:
    """A secret that is missing or cannot be read is left out, as a kubelet leaves it out."""
    found: list[Credential] = []
    for name in secrets:
        found += await _of_secret(api, registries, namespace, name, image)
    try:
        own = await registries.credentials.credential(image)
    except Malformed:
        return tuple(found)
    return (*found, *([own] if own else []))


async def _of_secret(
    api: Kube, registries: Registries, namespace: str, name: str, image: str
) -> list[Credential]:
    try:
        secret = await api.get(SECRETS, name, namespace=namespace)
    except kube.KubeError as error:
        log.warning("pull secret was not read", secret=f"{namespace}/{name}", error=str(error))
        return []
    file = pull_secrets.parse(secret.data, name=f"secret {namespace}/{name}")
    for problem in file.problems:
        log.warning("pull secret", problem=problem)
    source = ImageCredentials(
        source=Table(file.credential_by_pattern), routing=registries.credentials.routing
    )
    credential = await source.credential(image)
    return [] if credential is None else [credential]
