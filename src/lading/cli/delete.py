"""`lading delete`: objects by kind and name, by labels, or those in files."""

from collections.abc import AsyncIterator
from pathlib import Path

import click
import msgspec

from lading.adapters.kube import discovery
from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.discovery import Catalogue
from lading.cli import connection, documents, objects, options, output, running
from lading.cli.connection import Target
from lading.cli.documents import ManifestSource
from lading.cli.exit_codes import ExitCode
from lading.cli.objects import ObjectName
from lading.cli.pin import host_state
from lading.ports import kube
from lading.ports.kube import Selection


class Deleted(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line asks to delete: named, selected, or described in files."""

    names: tuple[tuple[str, str], ...] = ()
    kinds: str = ""
    selector: str = ""
    sources: tuple[ManifestSource, ...] = ()


@click.command(name="delete")
@click.argument("words", metavar="KIND NAME... | KIND/NAME... | KIND", nargs=-1)
@options.files_option(required=False)
@click.option(
    "-l",
    "--selector",
    metavar="LABELS",
    default="",
    help="Delete the objects of KIND with these labels.",
)
@click.option("--all", "all_objects", is_flag=True, help="Delete all objects of KIND.")
@click.option("--ignore-not-found", is_flag=True, help="A missing object is not an error.")
@options.host_option(
    help="Unpin the sets on this container runtime, unix:///..., instead of a cluster."
)
@host_state.state_dir_option(help="The state directory of the host, with --runtime-endpoint.")
@connection.target_options
def command(
    target: Target,
    words: tuple[str, ...],
    files: tuple[str, ...],
    selector: str,
    all_objects: bool,
    ignore_not_found: bool,
    runtime_endpoint: str,
    state_dir: Path,
) -> None:
    """Delete the objects of a KIND with a NAME or with labels, or the objects in files."""
    names = tuple(objects.split(words))
    selects = bool(selector) or all_objects
    if selector and all_objects:
        raise click.UsageError("use either -l or --all")
    ways = (bool(names), bool(files), selects and len(words) == 1 and not names)
    if sum(ways) != 1 or bool(words) == bool(files) or (selects and not ways[2]):
        raise click.UsageError(
            "write KIND NAME..., KIND/NAME..., KIND with -l or --all, or -f FILE"
        )
    if runtime_endpoint and selects:
        raise click.UsageError(
            "-l and --all need a cluster; with --runtime-endpoint, write the names of the sets"
        )
    deleted = Deleted(
        names=names,
        kinds=words[0] if selects else "",
        selector=selector,
        sources=tuple(documents.read(files)) if files else (),
    )
    if runtime_endpoint:
        running.run(_delete_on_host(runtime_endpoint, deleted, state_dir))
    else:
        running.run(_delete(target, deleted, ignore_not_found=ignore_not_found))


async def _delete_on_host(endpoint: str, deleted: Deleted, state_dir: Path) -> None:
    from lading.cli.pin import host_sets  # slow to load, and most commands ask a cluster

    described = ((one.kind, str(one.metadata.get("name"))) for one in deleted.sources)
    named = [*deleted.names, *described]
    for kind, _ in named:
        host_sets.require_kind(kind)
    await host_sets.remove(endpoint, [name for _, name in named], state_dir=state_dir)


async def _delete(target: Target, deleted: Deleted, *, ignore_not_found: bool) -> None:
    """What cannot be found out stops everything; what cannot be deleted does not stop the rest."""
    failed = False
    async with target.open() as client:
        catalogue = await discovery.discover(client)
        found = [objects.named(kind, name, catalogue, target) for kind, name in deleted.names]
        found += [objects.described(source, catalogue, target) for source in deleted.sources]
        if deleted.kinds:
            found += [one async for one in _selected(client, catalogue, target, deleted)]
            if not found:
                click.echo("No resources found")
        for one in found:
            try:
                await client.delete(one.resource, one.name, namespace=one.namespace)
                click.echo(f"{one} deleted")
            except kube.KubeError as error:
                if ignore_not_found and isinstance(error, kube.NotFound):
                    continue
                failed = True
                output.error(error)
    if failed:
        raise click.exceptions.Exit(ExitCode.FAILED)


async def _selected(
    client: KubeClient, catalogue: Catalogue, target: Target, deleted: Deleted
) -> AsyncIterator[ObjectName]:
    for resource in catalogue.all_named(deleted.kinds):
        namespace = target.default_namespace if resource.namespaced else ""
        selection = Selection(namespace=namespace, label_selector=deleted.selector)
        async for one in client.each(resource.metadata_only(), selection):
            yield ObjectName(resource=resource, name=one.metadata.name, namespace=namespace)
