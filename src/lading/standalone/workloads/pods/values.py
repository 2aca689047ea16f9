"""Reads the Secrets and ConfigMaps that containers name."""

import base64
from collections.abc import Iterable

from lading.api.core import CONFIG_MAPS, SECRETS
from lading.ports import kube
from lading.ports.kube import Kube
from lading.standalone.workloads.pods.inputs import SourceKind, Values, ValueSource


async def read(api: Kube, namespace: str, sources: Iterable[ValueSource]) -> Values:
    """A source that does not exist is left out."""
    found: dict[ValueSource, dict[str, bytes]] = {}
    for source in sorted(sources):
        try:
            found[source] = await _content(api, namespace, source)
        except kube.NotFound:
            continue
    return found


async def _content(api: Kube, namespace: str, source: ValueSource) -> dict[str, bytes]:
    match source.kind:
        case SourceKind.SECRET:
            secret = await api.get(SECRETS, source.name, namespace=namespace)
            return _decoded(secret.data)
        case SourceKind.CONFIG_MAP:
            config_map = await api.get(CONFIG_MAPS, source.name, namespace=namespace)
            texts = {key: text.encode() for key, text in config_map.data.items()}
            return {**texts, **_decoded(config_map.binary_data)}


def _decoded(data: dict[str, str]) -> dict[str, bytes]:
    return {key: base64.b64decode(text) for key, text in data.items()}
