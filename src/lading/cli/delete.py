"""`lading delete`: objects by kind and name, or those in files."""

from pathlib import Path

import click

from lading.adapters.kube import discovery
from lading.cli import connection, documents, objects, options, output, running, sentences
from lading.cli.connection import Target
from lading.cli.documents import ManifestSource
from lading.cli.pin import host_state
from lading.ports import kube


@click.command(name="delete")
@click.argument("words", metavar="KIND NAME... | KIND/NAME...", nargs=-1)
@options.files_option(required=False)
@options.host_option(help="Unpin the sets on this container runtime, unix:///...")
@host_state.state_dir_option(help="The state directory of the host, with --runtime-endpoint.")
@connection.target_options
def command(
    target: Target,
    words: tuple[str, ...],
    files: tuple[str, ...],
    runtime_endpoint: str,
    state_dir: Path,
) -> None:
    """Delete the objects of a KIND with these NAMEs, or the objects in files."""
    names = list(objects.split(words))
    if bool(files) == bool(words) or bool(words) != bool(names):
        raise click.UsageError("name a kind and objects of it, or files with -f")
    sources = documents.read(files) if files else []
    if runtime_endpoint:
        running.run(_delete_on_host(runtime_endpoint, names, sources, state_dir))
    else:
        running.run(_delete(target, names, sources))


async def _delete_on_host(
    endpoint: str, names: list[tuple[str, str]], sources: list[ManifestSource], state_dir: Path
) -> None:
    from lading.cli.pin import host_sets  # slow to load, and most commands ask a cluster

    named = [*names, *((source.kind, str(source.metadata.get("name"))) for source in sources)]
    for kind, _ in named:
        host_sets.require_kind(kind)
    await host_sets.remove(endpoint, [name for _, name in named], state_dir=state_dir)


async def _delete(
    target: Target, names: list[tuple[str, str]], sources: list[ManifestSource]
) -> None:
    """What cannot be found out stops everything; what cannot be deleted does not stop the rest."""
    failed = False
    async with target.open() as client:
        catalogue = await discovery.discover(client)
        found = [objects.named(kind, name, catalogue, target) for kind, name in names]
        found += [objects.described(source, catalogue, target) for source in sources]
        for one in found:
            try:
                await client.delete(one.resource, one.name, namespace=one.namespace)
                click.echo(f"{one} deleted")
            except kube.KubeError as error:
                failed = True
                output.sentence(f"Error: {sentences.sentence(error)}", err=True)
    if failed:
        raise click.exceptions.Exit(1)
