"""`lading apply`: objects from files, by server-side apply; or onto one host without a cluster."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from lading.adapters.kube import discovery
from lading.adapters.kube.client import KubeClient
from lading.cli import connection, documents, dry_runs, objects, options, output, running
from lading.cli.connection import Target
from lading.cli.documents import ManifestSource
from lading.cli.dry_runs import FIELD_MANAGER
from lading.cli.feature_gates import feature_gates_option
from lading.cli.pin import host_state, setting_options
from lading.kernel.feature_gates import Gates
from lading.kernel.objects import PartialObjectMetadata, Resource
from lading.pinned_images.node.types import PinSettings
from lading.ports import kube


@click.command(name="apply")
@options.files_option(required=True)
@options.host_option(
    help="Pull and pin on this container runtime, unix:///..., instead of a cluster."
)
@host_state.state_dir_option(help="The state directory of the host, with --runtime-endpoint.")
@feature_gates_option()
@setting_options.expansion_factor_option
@setting_options.require_disk_check_option
@setting_options.parallel_pulls_option
@setting_options.progress_timeout_option
@running.timeout_option()
@dry_runs.force_conflicts_option
@click.option(
    "--dry-run",
    type=click.Choice(["none", "server"]),
    default="none",
    show_default=True,
    help="server: the API server checks the objects and changes nothing.",
)
@connection.target_options
def command(
    target: Target,
    files: tuple[str, ...],
    runtime_endpoint: str,
    state_dir: Path,
    gates: Gates,
    expansion_factor: float,
    require_disk_check: bool,
    max_parallel_image_pulls: int,
    pull_progress_timeout: timedelta,
    timeout: timedelta | None,
    force_conflicts: bool,
    dry_run: str,
) -> None:
    """Create or update the objects in files. All files are read before anything is written.

    With --runtime-endpoint the command needs no cluster: it pulls and pins the images of
    PinnedImageSets on this host. Without it, these options have no effect: --state-dir,
    --feature-gates, --expansion-factor, --require-disk-check, --max-parallel-image-pulls and
    --pull-progress-timeout.
    """
    is_trial = dry_run != "none"
    if runtime_endpoint and is_trial:
        raise click.UsageError("--dry-run asks an API server; see `lading pin plan` for a host")
    if runtime_endpoint:
        from lading.cli.pin import on_host  # slow to load, and most commands ask a cluster

        settings = PinSettings(
            parallel_pulls_max=max_parallel_image_pulls,
            expansion_factor=expansion_factor,
            require_disk_check=require_disk_check,
            pull_progress_timeout=pull_progress_timeout,
        )
        work = on_host.synchronize(
            files, runtime_endpoint, state_dir=state_dir, gates=gates, settings=settings
        )
    else:
        sources = documents.read(files)
        work = _apply(target, sources, force=force_conflicts, dry_run=is_trial)
    running.run(work, timeout=timeout)


async def _apply(
    target: Target, sources: list[ManifestSource], *, force: bool, dry_run: bool
) -> None:
    failed = 0
    async with target.open() as client:
        catalogue = await discovery.discover(client)
        for source in sources:
            try:
                resource, content = objects.placed(source, catalogue, target)
                if dry_run:
                    tried = await dry_runs.attempt(client, resource, content, force=force)
                    output.sentence(f"{tried} (server dry run)")
                else:
                    output.sentence(await apply_object(client, resource, content, force=force))
            except kube.KubeError as error:
                failed += 1
                output.sentence(dry_runs.refusal(source, error), err=True)
    if failed:
        raise click.ClickException(f"{failed} of {len(sources)} objects were not applied")


async def apply_object(
    client: KubeClient, resource: Resource[Any], content: dict[str, Any], *, force: bool = False
) -> str:
    """One object by server-side apply; returns the sentence that says what was done."""
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
