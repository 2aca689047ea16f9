"""`lading get`: objects as the server's own table, or whole."""

from typing import Any, NoReturn

import click

from lading.adapters.kube import discovery
from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.discovery import Catalogue
from lading.cli import connection, objects, options, output, running, server_tables
from lading.cli.connection import Target
from lading.cli.error_messages import ExitCode
from lading.cli.output import ListFormat
from lading.cli.server_tables import TableQuery
from lading.kernel.objects import Resource
from lading.kernel.values import replace
from lading.ports import kube
from lading.ports.kube import Selection

_TABLES = (ListFormat.TABLE, ListFormat.WIDE)


@click.command(name="get")
@click.argument("words", metavar="KIND[,KIND...] [NAME...] | KIND/NAME...", nargs=-1, required=True)
@click.option(
    "-l", "--selector", metavar="LABELS", default="", help="Show only objects with these labels."
)
@click.option("-A", "--all-namespaces", is_flag=True, help="Show the objects of every namespace.")
@click.option(
    "-w",
    "--watch",
    is_flag=True,
    help="After the table, show each object that changes, until Ctrl-C.",
)
@output.list_form_option(help="The output format; wide adds columns.")
@options.host_option(
    help="Show the PinnedImageSets of this container runtime, unix:///..., instead of a cluster."
)
@connection.target_options
def command(
    target: Target,
    words: tuple[str, ...],
    selector: str,
    all_namespaces: bool,
    watch: bool,
    runtime_endpoint: str,
    form: ListFormat,
) -> None:
    """Show the objects of a KIND (`pis`, `mcp`, `nodes`, ...), or only those with a NAME.

    `lading get lading` shows the objects of all kinds of Lading.
    """
    names = list(objects.split(words))
    if names and (selector or all_namespaces):
        raise click.UsageError("-l and -A select objects; leave them out with a NAME")
    if names and "," in names[0][0]:
        raise click.UsageError("a NAME needs exactly one KIND")
    if watch and (form not in _TABLES or runtime_endpoint or len(names) > 1):
        raise click.UsageError("-w shows a table of one KIND, or of one object, of a cluster")
    if runtime_endpoint:
        running.run(_get_of_host(runtime_endpoint, words[0], names, form))
    else:
        work = _get(target, words[0], names, selector, all_namespaces, form, watch)
        running.run(work)


async def _get_of_host(
    endpoint: str, kind: str, names: list[tuple[str, str]], form: ListFormat
) -> None:
    from lading.cli.pin import host  # gRPC and the registry client are only needed on a host

    found = await host.pinned_sets(endpoint, names[0][0] if names else kind, names)
    if form in _TABLES:
        click.echo(host.table(found), nl=False)
    else:
        _show(host.documents(found), form, is_one=len(names) == 1)


async def _get(
    target: Target,
    kinds: str,
    names: list[tuple[str, str]],
    selector: str,
    all_namespaces: bool,
    form: ListFormat,
    watch: bool,
) -> None:
    missing: list[kube.NotFound] = []
    async with target.open() as client:
        catalogue = await discovery.discover(client)
        namespace = "" if all_namespaces else target.default_namespace
        queries = _queries(catalogue, kinds, names, namespace, selector)
        if watch:
            await _watch(client, queries, wide=form is ListFormat.WIDE)
        if form in _TABLES:
            is_wide = form is ListFormat.WIDE
            text = await server_tables.text(
                client, queries, wide=is_wide, on_missing=missing.append
            )
            if text:
                click.echo(text)
            elif not missing:
                click.echo(_nothing(queries), err=True)
        else:
            found = [one for part in queries for one in await _objects(client, part, missing)]
            if found or not missing:
                _show(found, form, is_one=len(names) == 1)
    for error in missing:
        output.error(error)
    if missing:
        raise click.exceptions.Exit(ExitCode.FAILED)


def _nothing(queries: list[TableQuery]) -> str:
    """Objects may be in another namespace than the queried one."""
    namespaces = {one.selection.namespace for one in queries}
    if "" in namespaces:
        return "No resources found"
    return f"No resources found in the namespace {', '.join(namespaces)}"


async def _watch(client: KubeClient, queries: list[TableQuery], *, wide: bool) -> NoReturn:
    if len(queries) > 1:
        raise click.UsageError("-w needs exactly one KIND")
    async for line in server_tables.follow(client, _selected(queries[0]), wide=wide):
        click.echo(line, nl=False)
    raise AssertionError("unreachable: a watch has no end")


def _selected(query: TableQuery) -> TableQuery:
    """A named object as a selection, which can be watched."""
    if not query.names:
        return query
    only = replace(query.selection, field_selector=f"metadata.name={query.names[0]}")
    return replace(query, names=(), selection=only)


def _show(objects: list[dict[str, Any]], form: ListFormat, *, is_one: bool) -> None:
    if form is ListFormat.NAME:
        for found in objects:
            click.echo(f"{found['kind'].lower()}/{found['metadata']['name']}")
        return
    whole = objects[0] if is_one else {"apiVersion": "v1", "kind": "List", "items": objects}
    click.echo(output.document(whole, output.Format(form.value)), nl=False)


def _queries(
    catalogue: Catalogue,
    kinds: str,
    names: list[tuple[str, str]],
    namespace: str,
    selector: str,
) -> list[TableQuery]:
    """Of each kind once, in the order of the command line."""
    wanted: dict[Resource[dict[str, Any]], list[str]] = {}
    for kind, name in names:
        wanted.setdefault(catalogue.named(kind), []).append(name)
    return [
        TableQuery(
            resource=resource,
            names=tuple(wanted.get(resource, ())),
            selection=Selection(
                namespace=namespace if resource.namespaced else "", label_selector=selector
            ),
        )
        for resource in wanted or catalogue.all_named(kinds)
    ]


async def _objects(
    client: KubeClient, query: TableQuery, missing: list[kube.NotFound]
) -> list[dict[str, Any]]:
    resource, selection = query.resource, query.selection
    found: list[dict[str, Any]] = []
    for name in query.names:
        try:
            found.append(await client.get(resource, name, namespace=selection.namespace))
        except kube.NotFound as error:
            missing.append(error)
    if not query.names:
        found = [one async for one in client.each(resource, selection)]
    kind = {"apiVersion": resource.api_version, "kind": resource.kind}
    return [{**kind, **objects.readable(one)} for one in found]
