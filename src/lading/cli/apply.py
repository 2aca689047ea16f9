"""`lading apply`: objects from files, by server-side apply; or onto one host without a cluster."""

from typing import Any

import click

from lading.adapters.kube import discovery
from lading.adapters.kube.client import KubeClient
from lading.cli import connection, documents, running
from lading.cli.connection import Target
from lading.cli.documents import Source
from lading.cli.pin import on_host, sets
from lading.ports import kube

FIELD_MANAGER = "lading"


@click.command(name="apply")
@click.option("-f", "--filename", "files", multiple=True, required=True, help="A file, or -.")
@click.option(
    "--runtime-endpoint",
    default="",
    help="Preload and pin on this container runtime, unix:///..., without any cluster.",
)
@click.option("--force-conflicts", is_flag=True, help="Take fields over from other managers.")
@connection.target_options
def command(
    target: Target, files: tuple[str, ...], runtime_endpoint: str, force_conflicts: bool
) -> None:
    """Create or update the objects in files. All files are read before anything is written."""
    if runtime_endpoint:
        running.run(on_host.synchronize(sets.sets_in(files), runtime_endpoint))
        return
    sources = [source for file in files for source in documents.read(file)]
    running.run(_apply(target, sources, force_conflicts))


async def _apply(target: Target, sources: list[Source], force: bool) -> None:
    failed = 0
    async with target.open() as client:
        catalogue = await discovery.discover(client)
        for source in sources:
            try:
                click.echo(await _apply_one(client, catalogue, source, target, force=force))
            except kube.KubeError as error:
                failed += 1
                click.echo(f"{source.file}:{source.line(())}: {error}", err=True)
    if failed:
        raise click.ClickException(f"{failed} of {len(sources)} objects were not applied")


async def _apply_one(
    client: KubeClient,
    catalogue: discovery.Catalogue,
    source: Source,
    target: Target,
    *,
    force: bool,
) -> str:
    content = source.content
    kind = str(content.get("kind", ""))
    resource = catalogue.of_kind(str(content.get("apiVersion", "")), kind)
    metadata: dict[str, Any] = dict(content.get("metadata") or {})
    if not metadata.get("name"):
        raise kube.Invalid(f"this {kind} has no metadata.name, which says which object it is")
    if resource.namespaced:
        metadata.setdefault("namespace", target.default_namespace)
    before = await _revision(client, resource, metadata)
    applied = await client.apply(
        resource, {**content, "metadata": metadata}, field_manager=FIELD_MANAGER, force=force
    )
    after = applied["metadata"].get("resourceVersion", "")
    done = "created" if before is None else "unchanged" if before == after else "configured"
    return f"{kind.lower()}/{metadata['name']} {done}"


async def _revision(client: KubeClient, resource: Any, metadata: dict[str, Any]) -> str | None:
    try:
        found = await client.get(
            resource, metadata["name"], namespace=metadata.get("namespace", "")
        )
    except kube.NotFound:
        return None
    return str(found["metadata"].get("resourceVersion", ""))
