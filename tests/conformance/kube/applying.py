"""Server-side apply of widgets."""

from typing import Any

from tests.conformance.kube.api import (
    CONFIG_MAPS,
    WIDGETS,
    Api,
    Document,
    config_map,
    in_namespace,
    widget,
)


async def apply(
    api: Api, namespace: str, manager: str, force: bool = False, **data: str
) -> Document:
    body = in_namespace(config_map(**data), namespace)
    return await api.client.apply(CONFIG_MAPS, body, field_manager=manager, force=force)


async def apply_widget(api: Api, namespace: str, manager: str, **spec: Any) -> Document:
    body = in_namespace(widget(**spec), namespace)
    return await api.client.apply(WIDGETS, body, field_manager=manager)
