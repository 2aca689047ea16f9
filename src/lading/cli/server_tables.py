"""The tables that an API server makes of its objects, as text: what `kubectl get` shows."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from lading.adapters.kube import requests
from lading.adapters.kube.client import KubeClient
from lading.cli import output
from lading.kernel.objects import Resource
from lading.ports import kube
from lading.ports.http import Request
from lading.ports.kube import EventType, Selection

_ACCEPT = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
_WATCH_SECONDS = 300

Table = dict[str, Any]
OnMissing = Callable[[kube.NotFound], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The objects of one kind, or those that are named."""

    resource: Resource[dict[str, Any]]
    names: tuple[str, ...]
    selection: Selection

    @property
    def is_of_all_namespaces(self) -> bool:
        return self.resource.namespaced and not self.selection.namespace


async def text(
    client: KubeClient, asked: Sequence[Asked], *, wide: bool, on_missing: OnMissing
) -> str:
    """One table per kind that has objects; with several kinds, names say their kind."""
    several = len(asked) > 1
    tables = [(one, await _table(client, one, on_missing)) for one in asked]
    shown = [
        output.table(*_columns(one, table, wide=wide, kinds=several)).rstrip("\n")
        for one, table in tables
        if table["rows"]
    ]
    return "\n\n".join(shown)


async def follow(client: KubeClient, asked: Asked, *, wide: bool) -> AsyncIterator[str]:
    """The table, and then a line for each object that changes; without end."""
    table = await _listed(client, asked)
    headers, rows = _columns(asked, table, wide=wide)
    widths = output.widths(headers, rows)
    for line in (headers, *rows):
        yield output.line(line, widths)
    version = table["metadata"]["resourceVersion"]
    while True:
        try:
            async for event in client.watch(
                asked.resource.metadata_only(),
                asked.selection,
                resource_version=version,
                timeout_seconds=_WATCH_SECONDS,
            ):
                version = event.resource_version or version
                if event.object is None:
                    continue
                name, namespace = event.object.metadata.name, event.object.metadata.namespace
                if event.type is EventType.DELETED:
                    yield f"{asked.resource.kind.lower()}/{name} deleted\n"
                    continue
                for row in await _row(client, asked, name, namespace, wide=wide):
                    yield output.line(row, widths)
        except kube.Gone:
            version = (await _listed(client, asked))["metadata"]["resourceVersion"]


async def _row(
    client: KubeClient, asked: Asked, name: str, namespace: str, *, wide: bool
) -> Sequence[Sequence[str]]:
    """None for an object that is gone again: the watch reports it next."""
    try:
        table = await _named(client, asked.resource, name, namespace)
    except kube.NotFound:
        return []
    return _columns(asked, table, wide=wide)[1]


async def _table(client: KubeClient, asked: Asked, on_missing: OnMissing) -> Table:
    if not asked.names:
        return await _listed(client, asked)
    tables: list[Table] = []
    for name in asked.names:
        try:
            tables.append(await _named(client, asked.resource, name, asked.selection.namespace))
        except kube.NotFound as error:
            on_missing(error)
    rows = [row for table in tables for row in table["rows"]]
    return {**tables[0], "rows": rows} if tables else {"rows": []}


async def _listed(client: KubeClient, asked: Asked) -> Table:
    request = requests.page(asked.resource, asked.selection, limit=0, continue_token="")
    return await _answer(client, request)


async def _named(client: KubeClient, resource: Resource[Any], name: str, namespace: str) -> Table:
    path = requests.object_path(resource, name, namespace=namespace)
    return await _answer(client, Request(method="GET", path=path))


async def _answer(client: KubeClient, request: Request) -> Table:
    accepting = replace(request, headers={**request.headers, "accept": _ACCEPT})
    table: Table = msgspec.json.decode(await client.send(accepting))
    return table


def _columns(
    asked: Asked, table: Table, *, wide: bool, kinds: bool = False
) -> tuple[list[str], list[list[str]]]:
    """Headers and rows. Columns of lower priority are shown only when wide."""
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
    return headers, rows


def _cell(value: Any) -> str:
    return "" if value is None else str(value)
