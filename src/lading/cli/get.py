"""`lading get`: objects as the server's own table, or whole."""

from dataclasses import replace
from enum import StrEnum
from typing import Any

import click
import msgspec

from lading.adapters.kube import discovery, requests
from lading.adapters.kube.client import KubeClient
from lading.cli import connection, options, output, running
from lading.cli.connection import Target
from lading.kernel.objects import Resource
from lading.ports.http import Request
from lading.ports.kube import Selection

TABLE_ACCEPT = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


class Form(StrEnum):
    TABLE = "table"
    WIDE = "wide"
    NAME = "name"
    JSON = "json"
    YAML = "yaml"


@click.command(name="get")
@click.argument("kind", metavar="KIND[/NAME]")
@click.argument("name", required=False, default="")
@click.option("-l", "--selector", default="", help="Only objects with these labels.")
@click.option("-A", "--all-namespaces", is_flag=True, help="In every namespace.")
@options.choice_option("-o", "--output", "form", default=Form.TABLE, choices=Form, help="The form.")
@connection.target_options
def command(
    target: Target, kind: str, name: str, selector: str, all_namespaces: bool, form: Form
) -> None:
    """Show objects of a KIND (`pis`, `mcp`, `nodes`, ...), or the one called NAME."""
    kind, _, name_in_kind = kind.partition("/")
    if name and name_in_kind:
        raise click.UsageError("write either KIND NAME or KIND/NAME, not both")
    running.run(_get(target, kind, name or name_in_kind, selector, all_namespaces, form))


async def _get(
    target: Target, kind: str, name: str, selector: str, all_namespaces: bool, form: Form
) -> None:
    async with target.open() as client:
        resource = (await discovery.discover(client)).named(kind)
        namespace = "" if all_namespaces else target.default_namespace
        selection = Selection(
            namespace=namespace if resource.namespaced else "", label_selector=selector
        )
        if form in (Form.TABLE, Form.WIDE):
            click.echo(await _table(client, resource, name, selection, wide=form is Form.WIDE))
            return
        objects = await _objects(client, resource, name, selection)
    if form is Form.NAME:
        for one in objects:
            click.echo(f"{resource.kind.lower()}/{one['metadata']['name']}")
        return
    whole = objects[0] if name else {"apiVersion": "v1", "kind": "List", "items": objects}
    click.echo(output.document(whole, output.Format(form.value)), nl=False)


async def _objects(
    client: KubeClient, resource: Resource[dict[str, Any]], name: str, selection: Selection
) -> list[dict[str, Any]]:
    if name:
        return [_readable(await client.get(resource, name, namespace=selection.namespace))]
    found = [_readable(one) async for one in client.each(resource, selection)]
    return [{"apiVersion": resource.api_version, "kind": resource.kind, **one} for one in found]


def _readable(content: dict[str, Any]) -> dict[str, Any]:
    """Without the book-keeping of server-side apply, which kubectl does not show either."""
    metadata = {key: value for key, value in content["metadata"].items() if key != "managedFields"}
    return {**content, "metadata": metadata}


async def _table(
    client: KubeClient,
    resource: Resource[dict[str, Any]],
    name: str,
    selection: Selection,
    *,
    wide: bool,
) -> str:
    if name:
        path = requests.object_path(resource, name, namespace=selection.namespace)
        request = Request(method="GET", path=path)
    else:
        request = requests.page(resource, selection, limit=0, continue_token="")
    accepting = replace(request, headers={**request.headers, "accept": TABLE_ACCEPT})
    body = await client.send(accepting)
    return rendered(msgspec.json.decode(body), wide=wide)


def rendered(table: dict[str, Any], *, wide: bool) -> str:
    """The server's table as text; columns of lower priority only when wide."""
    shown = [
        index
        for index, column in enumerate(table["columnDefinitions"])
        if wide or not column.get("priority")
    ]
    if not table["rows"]:
        return "No resources found"
    headers = [table["columnDefinitions"][index]["name"].upper() for index in shown]
    rows = [[_cell(row["cells"][index]) for index in shown] for row in table["rows"]]
    return output.table(headers, rows).rstrip("\n")


def _cell(value: Any) -> str:
    return "" if value is None else str(value)
