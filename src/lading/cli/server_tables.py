"""The tables that an API server makes of its objects, as `kubectl get` shows them."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from lading.adapters.kube import requests
from lading.adapters.kube.client import KubeClient
from lading.cli import output
from lading.kernel.objects import Resource
from lading.kernel.values import replace
from lading.ports import kube
from lading.ports.http import Request
from lading.ports.kube import EventType, Selection

_ACCEPT = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
_WATCH_SECONDS = 300

Table = dict[str, Any]
OnMissing = Callable[[kube.NotFound], None]


class TableQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The objects of one kind, or those that are named."""

    resource: Resource[dict[str, Any]]
    names: tuple[str, ...]
    selection: Selection

    @property
    def is_of_all_namespaces(self) -> bool:
        return self.resource.namespaced and not self.selection.namespace


async def text(
    client: KubeClient, queries: Sequence[TableQuery], *, wide: bool, on_missing: OnMissing
) -> str:
    """One table per kind that has objects; with several kinds, names say their kind."""
    several = len(queries) > 1
    tables = [(one, await _table(client, one, on_missing)) for one in queries]
    shown = [
        output.table(*_columns(one, table, wide=wide, kinds=several), is_whole=wide).rstrip("\n")
        for one, table in tables
        if table["rows"]
    ]
    return "\n\n".join(shown)


async def follow(client: KubeClient, query: TableQuery, *, wide: bool) -> AsyncGenerator[str, None]:
    """The table, and then a line for each object that changes; it never ends.

    When a watch expires, the table is read again, and missed changes are printed.
    """
    table = await _listed(client, query)
    headers, rows = _columns(query, table, wide=wide)
    view = _View(query=query, wide=wide, widths=output.widths([headers, *rows]))
    yield output.line(headers, view.widths)
    while True:
        for line in view.read_again(table):
            yield line
        try:
            async for line in _changes(client, view, table["metadata"]["resourceVersion"]):
                yield line
        except kube.Gone:
            table = await _listed(client, query)


class _View(msgspec.Struct, frozen=True, kw_only=True):
    """Remembers the resource version of each object that was printed."""

    query: TableQuery
    wide: bool
    widths: list[int]
    shown: dict[tuple[str, str], str] = {}

    def read_again(self, table: Table) -> Iterator[str]:
        """Lines for new and changed objects, and for deleted ones."""
        before = dict(self.shown)
        yield from self.lines(table)
        for key in before.keys() - {_key(row) for row in table["rows"]}:
            yield self.deleted(key)

    def lines(self, table: Table) -> Iterator[str]:
        _, rows = _columns(self.query, table, wide=self.wide)
        for row, cells in zip(table["rows"], rows, strict=True):
            version = row["object"]["metadata"]["resourceVersion"]
            if self.shown.get(_key(row)) != version:
                self.shown[_key(row)] = version
                yield output.line(cells, self.widths)

    def deleted(self, key: tuple[str, str]) -> str:
        self.shown.pop(key, None)
        namespace, name = key
        where = f" in {namespace}" if self.query.is_of_all_namespaces else ""
        gone = "deleted"
        if self.query.selection.label_selector:
            gone = "deleted or no longer selected"  # a watch does not tell which
        return f"{self.query.resource.kind.lower()}/{name} {gone}{where}\n"


def _key(row: dict[str, Any]) -> tuple[str, str]:
    metadata = row["object"]["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


async def _changes(client: KubeClient, view: _View, version: str) -> AsyncIterator[str]:
    """Never ends; raises Gone when the version is too old for the server."""
    query = view.query
    while True:
        async for event in client.watch(
            query.resource.metadata_only(),
            query.selection,
            resource_version=version,
            timeout_seconds=_WATCH_SECONDS,
        ):
            version = event.resource_version or version
            if event.object is None:
                continue
            name, namespace = event.object.metadata.name, event.object.metadata.namespace
            if event.type is EventType.DELETED:
                yield view.deleted((namespace, name))
                continue
            with suppress(kube.NotFound):  # gone again: the watch reports it next
                for line in view.lines(await _named(client, query.resource, name, namespace)):
                    yield line


async def _table(client: KubeClient, query: TableQuery, on_missing: OnMissing) -> Table:
    if not query.names:
        return await _listed(client, query)
    tables: list[Table] = []
    for name in query.names:
        try:
            tables.append(await _named(client, query.resource, name, query.selection.namespace))
        except kube.NotFound as error:
            on_missing(error)
    rows = [row for table in tables for row in table["rows"]]
    return {**tables[0], "rows": rows} if tables else {"rows": []}


async def _listed(client: KubeClient, query: TableQuery) -> Table:
    request = requests.page(query.resource, query.selection, limit=0, continue_token="")
    return await _answer(client, request)


async def _named(client: KubeClient, resource: Resource[Any], name: str, namespace: str) -> Table:
    path = requests.object_path(resource, name, namespace=namespace)
    return await _answer(client, Request(method="GET", path=path))


async def _answer(client: KubeClient, request: Request) -> Table:
    accepting = replace(request, headers={**request.headers, "accept": _ACCEPT})
    table: Table = msgspec.json.decode(await client.send(accepting))
    return table


def _columns(
    query: TableQuery, table: Table, *, wide: bool, kinds: bool = False
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
        prefix = f"{query.resource.kind.lower()}/"
        rows = [[f"{prefix}{name}", *cells] for name, *cells in rows]
    if query.is_of_all_namespaces:
        headers = ["NAMESPACE", *headers]
        namespaces = [row["object"]["metadata"].get("namespace", "") for row in table["rows"]]
        rows = [[namespace, *cells] for namespace, cells in zip(namespaces, rows, strict=True)]
    return headers, rows


def _cell(value: Any) -> str:
    return "" if value is None else str(value)
