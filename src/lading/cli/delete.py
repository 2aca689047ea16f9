"""`lading delete`: objects by kind and name, or those in files."""

from typing import Any

import click

from lading.adapters.kube import discovery
from lading.cli import connection, documents, running
from lading.cli.connection import Target
from lading.kernel.objects import Resource


@click.command(name="delete")
@click.argument("kind", required=False, default="")
@click.argument("names", nargs=-1)
@click.option("-f", "--filename", "files", multiple=True, help="A file, or -.")
@connection.target_options
def command(target: Target, kind: str, names: tuple[str, ...], files: tuple[str, ...]) -> None:
    """Delete the objects of a KIND with these NAMES, or the objects in files."""
    if bool(files) == bool(kind and names):
        raise click.UsageError("name a kind and objects of it, or files with -f")
    wanted = [source.content for file in files for source in documents.read(file)]
    running.run(_delete(target, kind, names, wanted))


async def _delete(
    target: Target, kind: str, names: tuple[str, ...], wanted: list[dict[str, Any]]
) -> None:
    async with target.open() as client:
        catalogue = await discovery.discover(client)
        found: list[tuple[Resource[dict[str, Any]], str, str]] = [
            (catalogue.named(kind), name, target.namespace) for name in names
        ]
        for content in wanted:
            metadata = content.get("metadata") or {}
            resource = catalogue.of_kind(content.get("apiVersion", ""), content.get("kind", ""))
            found.append((resource, metadata.get("name", ""), metadata.get("namespace", "")))
        for resource, name, namespace in found:
            where = namespace or target.default_namespace
            await client.delete(resource, name, namespace=where if resource.namespaced else "")
            click.echo(f"{resource.kind.lower()}/{name} deleted")
