"""`lading get`: objects as the server's own table, or whole."""

from enum import StrEnum
from typing import Any

import click

from lading.adapters.kube import discovery
from lading.adapters.kube.client import KubeClient
from lading.cli import connection, options, output, running, server_tables
from lading.cli.connection import Target
from lading.cli.server_tables import Asked
from lading.kernel.objects import Resource
from lading.ports.kube import Selection


class OutputForm(StrEnum):
    TABLE = "table"
    WIDE = "wide"
    NAME = "name"
    JSON = "json"
    YAML = "yaml"


@click.command(name="get")
@click.argument("kinds", metavar="KIND[,KIND...][/NAME]")
@click.argument("name", required=False, default="")
@click.option("-l", "--selector", default="", help="Show only objects with these labels.")
@click.option("-A", "--all-namespaces", is_flag=True, help="Show the objects of every namespace.")
@options.choice_option(
    "-o",
    "--output",
    "form",
    default=OutputForm.TABLE,
    choices=OutputForm,
    help="The output format.",
)
@options.host_option(help="Show the sets that are pinned on this container runtime, unix:///...")
@connection.target_options
def command(
    target: Target,
    kinds: str,
    name: str,
    selector: str,
    all_namespaces: bool,
    runtime_endpoint: str,
    form: OutputForm,
) -> None:
    """Show objects of a KIND (`pis`, `mcp`, `nodes`, ...), or the one called NAME.

    `lading get lading` shows those of all kinds of Lading.
    """
    kinds, _, name_in_kind = kinds.partition("/")
    if name and name_in_kind:
        raise click.UsageError("write either KIND NAME or KIND/NAME, not both")
    name = name or name_in_kind
    if name and (selector or all_namespaces):
        raise click.UsageError("-l and -A select objects; leave them out with a NAME")
    if runtime_endpoint:
        running.run(_get_of_host(runtime_endpoint, kinds, name, form))
    else:
        running.run(_get(target, kinds, name, selector, all_namespaces, form))


async def _get_of_host(endpoint: str, kind: str, name: str, form: OutputForm) -> None:
    from lading.cli.pin import host_sets  # slow to load, and most commands ask a cluster

    host_sets.require_kind(kind)
    found = await host_sets.pinned_sets(endpoint)
    if name:
        host_sets.require_pinned(name, found)
        found = {name: found[name]}
    if form in (OutputForm.TABLE, OutputForm.WIDE):
        click.echo(host_sets.table(found), nl=False)
    else:
        _show(host_sets.documents(found), form, is_one=bool(name))


async def _get(
    target: Target, kinds: str, name: str, selector: str, all_namespaces: bool, form: OutputForm
) -> None:
    async with target.open() as client:
        resources = (await discovery.discover(client)).all_named(kinds)
        if name and len(resources) > 1:
            raise click.UsageError("a NAME needs exactly one KIND")
        namespace = "" if all_namespaces else target.default_namespace
        asked = [_asked(one, name, namespace, selector) for one in resources]
        if form in (OutputForm.TABLE, OutputForm.WIDE):
            click.echo(await server_tables.text(client, asked, wide=form is OutputForm.WIDE))
            return
        objects = [found for one in asked for found in await _objects(client, one)]
    _show(objects, form, is_one=bool(name))


def _show(objects: list[dict[str, Any]], form: OutputForm, *, is_one: bool) -> None:
    if form is OutputForm.NAME:
        for found in objects:
            click.echo(f"{found['kind'].lower()}/{found['metadata']['name']}")
        return
    whole = objects[0] if is_one else {"apiVersion": "v1", "kind": "List", "items": objects}
    click.echo(output.document(whole, output.Format(form.value)), nl=False)


def _asked(resource: Resource[dict[str, Any]], name: str, namespace: str, selector: str) -> Asked:
    namespace = namespace if resource.namespaced else ""
    selection = Selection(namespace=namespace, label_selector=selector)
    return Asked(resource=resource, name=name, selection=selection)


async def _objects(client: KubeClient, asked: Asked) -> list[dict[str, Any]]:
    resource, selection = asked.resource, asked.selection
    if asked.name:
        found = [await client.get(resource, asked.name, namespace=selection.namespace)]
    else:
        found = [one async for one in client.each(resource, selection)]
    kind = {"apiVersion": resource.api_version, "kind": resource.kind}
    return [{**kind, **_readable(one)} for one in found]


def _readable(content: dict[str, Any]) -> dict[str, Any]:
    """Without the book-keeping of server-side apply, which kubectl does not show either."""
    metadata = {key: value for key, value in content["metadata"].items() if key != "managedFields"}
    return {**content, "metadata": metadata}
