"""`lading apply`: objects from files, by server-side apply; or onto one host without a cluster."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from lading.adapters.kube import discovery
from lading.adapters.kube.client import KubeClient
from lading.cli import connection, documents, feature_options, objects, options, output, running
from lading.cli.connection import Target
from lading.cli.documents import ManifestSource
from lading.kernel.feature_gates import Gates
from lading.kernel.objects import PartialObjectMetadata, Resource
from lading.ports import kube

FIELD_MANAGER = "lading"
_TAKE_OVER = "; set --force-conflicts to take the fields over"
_UNDECLARED = "field not declared in schema"
"""Server-side apply answers this for a field that does not exist, without the line."""


@click.command(name="apply")
@options.files_option(required=True)
@options.host_option(
    help="Pull and pin on this container runtime, unix:///..., instead of a cluster."
)
@options.state_dir_option(help="The state directory of the host, with --runtime-endpoint.")
@feature_options.feature_gates_option()
@running.timeout_option()
@click.option("--force-conflicts", is_flag=True, help="Take over fields from other field managers.")
@connection.target_options
def command(
    target: Target,
    files: tuple[str, ...],
    runtime_endpoint: str,
    state_dir: Path,
    gates: Gates,
    timeout: timedelta | None,
    force_conflicts: bool,
) -> None:
    """Create or update the objects in files. All files are read before anything is written.

    With --runtime-endpoint the command needs no cluster: it pulls and pins the images of
    PinnedImageSets on this host. Without it, --state-dir and --feature-gates have no effect.
    """
    if runtime_endpoint:
        from lading.cli.pin import host  # gRPC and the registry client are only needed on a host

        work = host.synchronize(files, runtime_endpoint, state_dir=state_dir, gates=gates)
    else:
        work = _apply(target, documents.read(files), force=force_conflicts)
    running.run(work, timeout=timeout)


async def _apply(target: Target, sources: list[ManifestSource], *, force: bool) -> None:
    failed = 0
    async with target.open() as client:
        catalogue = await discovery.discover(client)
        for source in sources:
            try:
                resource, content = objects.placed(source, catalogue, target)
                output.sentence(await apply_object(client, resource, content, force=force))
            except kube.KubeError as error:
                failed += 1
                output.sentence(_refusal(source, error), err=True)
    if failed:
        raise click.ClickException(f"{failed} of {len(sources)} objects were not applied")


def _refusal(source: ManifestSource, error: kube.KubeError) -> str:
    """Names the place in the file, the reason, and the next step."""
    step = _TAKE_OVER if isinstance(error, kube.Conflict) else ""
    if _UNDECLARED in str(error):
        step = f"; `lading validate -f {source.file}` shows the line"
    return f"{source.file}:{source.line(())}: {error}{step}"


async def apply_object(
    client: KubeClient, resource: Resource[Any], content: dict[str, Any], *, force: bool = False
) -> str:
    """Apply one object and return what was done, as kubectl prints it."""
    name, namespace = content["metadata"]["name"], content["metadata"].get("namespace", "")
    only_metadata = resource.metadata_only()
    before = await _revision(client, only_metadata, name, namespace)
    applied = await client.apply(only_metadata, content, field_manager=FIELD_MANAGER, force=force)
    after = applied.metadata.resource_version
    done = "created" if before is None else "unchanged" if before == after else "configured"
    return f"{resource.kind.lower()}/{name} {done}"


async def _revision(
    client: KubeClient, resource: Resource[PartialObjectMetadata], name: str, namespace: str
) -> str | None:
    try:
        found = await client.get(resource, name, namespace=namespace)
    except kube.NotFound:
        return None
    return found.metadata.resource_version
