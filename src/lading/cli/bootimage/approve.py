"""`lading bootimage approve`: confirms the release if no node can prove it."""

import click

from lading.api.core import CONFIG_MAPS
from lading.api.openshift_config import CLUSTER_VERSIONS
from lading.boot_images import commands, observe, stream
from lading.boot_images import release as release_proof
from lading.boot_images.types import PROOF_ANNOTATION, BootImageSettings
from lading.cli import connection, running
from lading.cli.bootimage import machine_set
from lading.cli.bootimage.settings import settings_options
from lading.cli.connection import Target
from lading.cli.error_messages import RefusedByGuard


@click.command(name="approve")
@click.argument("release")
@settings_options
@connection.target_options
def command(target: Target, settings: BootImageSettings, release: str) -> None:
    """Confirm that the cluster runs RELEASE, if nodes are replaced instead of updated."""
    running.run(_approve(target, settings, release))


async def _approve(target: Target, settings: BootImageSettings, release: str) -> None:
    async with target.open() as client:
        version = await observe.get_or_none(client, CLUSTER_VERSIONS, "version")
        if version is not None:
            raise RefusedByGuard(
                "this cluster has a ClusterVersion, which decides when an update is complete"
            )
        found = await commands.golden(client, settings)
        if found is None:
            raise click.ClickException(
                f"ConfigMap {settings.golden_namespace}/{stream.NAME} does not exist; create it"
            )
        golden = stream.golden(found.data)
        if golden.release_version != release:
            raise RefusedByGuard(
                f"ConfigMap {settings.golden_namespace}/{stream.NAME} is for release"
                f" {golden.release_version}, not {release}"
            )
        approved = dict.fromkeys(golden.digests(), "lading bootimage approve")
        stamp = release_proof.stamped(golden, approved)
        patch = {
            "metadata": {
                "resourceVersion": found.metadata.resource_version,
                "annotations": {PROOF_ANNOTATION: stamp},
            }
        }
        await client.patch(
            CONFIG_MAPS,
            stream.NAME,
            patch,
            namespace=settings.golden_namespace,
            field_manager=machine_set.FIELD_MANAGER,
        )
    click.echo(
        f"Release {release} is approved. The controller updates enrolled machine sets to it."
    )
