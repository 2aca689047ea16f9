"""The tables that an API server makes of its objects, as text: what `kubectl get` shows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from lading.adapters.kube import requests
from lading.adapters.kube.client import KubeClient
from lading.cli import output
from lading.kernel.objects import Resource
from lading.ports.http import Request
from lading.ports.kube import Selection

_ACCEPT = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The objects of one kind, or the one that is named."""

    resource: Resource[dict[str, Any]]
    name: str
    selection: Selection

    @property
    def is_of_all_namespaces(self) -> bool:
        return self.resource.namespaced and not self.selection.namespace


async def text(client: KubeClient, asked: Sequence[Asked], *, wide: bool) -> str:
    """One table per kind that has objects; with several kinds, names say their kind."""
    tables = [(one, await _table(client, one)) for one in asked]
    several = len(asked) > 1
    shown = [
        _rendered(one, table, wide=wide, kinds=several) for one, table in tables if table["rows"]
    ]
    return "\n\n".join(shown) or "No resources found"


async def _table(client: KubeClient, asked: Asked) -> dict[str, Any]:
    if asked.name:
        namespace = asked.selection.namespace
        path = requests.object_path(asked.resource, asked.name, namespace=namespace)
        request = Request(method="GET", path=path)
    else:
        request = requests.page(asked.resource, asked.selection, limit=0, continue_token="")
    accepting = replace(request, headers={**request.headers, "accept": _ACCEPT})
    table: dict[str, Any] = msgspec.json.decode(await client.send(accepting))
    return table


def _rendered(asked: Asked, table: dict[str, Any], *, wide: bool, kinds: bool) -> str:
    """Columns of lower priority are shown only when wide."""
    columns = [
        index
        for index, column in enumerate(table["columnDefinitions"])
        if wide or not column.get("priority")
    ]
    headers = [table["columnDefinitions"][index]["name"].upper() for index in columns]
    rows = [[_cell(row["cells"][index]) for index in columns] for row in table["rows"]]
    if kinds:
        prefix = f"{asked.resource.kind.lower()}/"
        rows = [[f"{prefix}{name}", *cells] for name, *cells in rows]
    if asked.is_of_all_namespaces:
        headers = ["NAMESPACE", *headers]
        namespaces = [row["object"]["metadata"].get("namespace", "") for row in table["rows"]]
        rows = [[namespace, *cells] for namespace, cells in zip(namespaces, rows, strict=True)]
    return output.table(headers, rows).rstrip("\n")


def _cell(value: Any) -> str:
    return "" if value is None else str(value)
