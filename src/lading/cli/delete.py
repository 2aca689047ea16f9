"""`lading delete`: objects by kind and name, or the objects in files."""

from collections.abc import Sequence
from pathlib import Path

import click

from lading.adapters.kube import discovery
from lading.cli import connection, documents, objects, options, output, running
from lading.cli.connection import Target
from lading.cli.documents import ManifestSource
from lading.cli.error_messages import ExitCode
from lading.ports import kube

KindAndName = tuple[str, str]


@click.command(name="delete")
@click.argument("words", metavar="KIND NAME... | KIND/NAME...", nargs=-1)
@options.files_option(required=False)
@options.host_option(
    help="Unpin the sets on this container runtime, unix:///..., instead of a cluster."
)
@options.state_dir_option(help="The state directory of the host, with --runtime-endpoint.")
@connection.target_options
def command(
    target: Target,
    words: tuple[str, ...],
    files: tuple[str, ...],
    runtime_endpoint: str,
    state_dir: Path,
) -> None:
    """Delete the objects of a KIND with a NAME, or the objects in files."""
    names = list(objects.split(words))
    if bool(names) == bool(files) or bool(words) != bool(names):
        raise click.UsageError("write KIND NAME..., KIND/NAME..., or -f FILE")
    sources = documents.read(files) if files else []
    if runtime_endpoint:
        from lading.cli.pin import host  # gRPC and the registry client are only needed on a host

        named = [*names, *((one.kind, str(one.metadata.get("name"))) for one in sources)]
        running.run(host.remove(runtime_endpoint, named, state_dir=state_dir))
    else:
        running.run(_delete(target, names, sources))


async def _delete(
    target: Target, names: Sequence[KindAndName], sources: Sequence[ManifestSource]
) -> None:
    """An unknown kind stops everything; an object that cannot be deleted does not stop the rest."""
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
                output.error(error)
    if failed:
        raise click.exceptions.Exit(ExitCode.FAILED)
