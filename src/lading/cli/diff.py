"""`lading diff`: what an apply of files would change, line by line."""

import difflib
from collections.abc import Iterator
from typing import Any

import click

from lading.adapters.kube import discovery
from lading.api.core import SECRETS
from lading.cli import connection, documents, dry_runs, objects, options, output, running
from lading.cli.connection import Target
from lading.cli.documents import ManifestSource
from lading.cli.dry_runs import Attempt
from lading.cli.exit_codes import ExitCode
from lading.cli.output import Format
from lading.kernel import texts
from lading.ports import kube

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
_MASK = "***"
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@click.command(name="diff")
@options.files_option(required=True)
@dry_runs.force_conflicts_option
@click.option("--exit-status", is_flag=True, help="End with exit code 1 if anything would change.")
@connection.target_options
def command(
    target: Target, files: tuple[str, ...], force_conflicts: bool, exit_status: bool
) -> None:
    """Show what `lading apply` of these files would change, and change nothing.

    The API server answers as for a real apply: with defaults, validation and field managers.
    """
    sources = documents.read(files)
    running.run(_diff(target, sources, force=force_conflicts, exit_status=exit_status))


async def _diff(
    target: Target, sources: list[ManifestSource], *, force: bool, exit_status: bool
) -> None:
    failed, changed = 0, False
    async with target.open() as client:
        catalogue = await discovery.discover(client)
        for source in sources:
            try:
                resource, content = objects.placed(source, catalogue, target)
                tried = await dry_runs.attempt(client, resource, content, force=force)
            except kube.KubeError as error:
                failed += 1
                output.sentence(dry_runs.refusal(source, error), err=True)
                continue
            changed = changed or not tried.changes_nothing
            for line in lines(tried, source.file):
                click.secho(line, fg=_COLOURS.get(line[0]))
    if failed:
        raise click.ClickException(f"{failed} of {len(sources)} objects would not be applied")
    if changed and exit_status:
        raise click.exceptions.Exit(ExitCode.FAILED)


def lines(tried: Attempt, file: str) -> Iterator[str]:
    """A unified diff of the object as YAML; nothing where nothing changes."""
    values_before, values_after = without_secrets(tried)
    before = output.document(values_before, Format.YAML) if values_before else ""
    after = output.document(values_after, Format.YAML)
    for line in difflib.unified_diff(
        before.splitlines(),
        after.splitlines(),
        fromfile=f"{tried.name} in the cluster",
        tofile=f"{tried.name} of {file}",
        lineterm="",
    ):
        yield texts.bounded_text(line)


def without_secrets(tried: Attempt) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Both sides; of a Secret, only which of its values change."""
    if tried.after["kind"] != SECRETS.kind:
        return tried.before, tried.after
    data_before = (tried.before or {}).get("data") or {}
    data_after = tried.after.get("data") or {}
    same = {key for key, value in data_after.items() if data_before.get(key) == value}

    def masked(content: dict[str, Any], data: dict[str, str], side: str) -> dict[str, Any]:
        values = {key: _MASK if key in same else f"{_MASK} ({side})" for key in data}
        return {**_without_copy(content), "data": values}

    before = tried.before and masked(tried.before, data_before, "before")
    return before, masked(tried.after, data_after, "after")


def _without_copy(secret: dict[str, Any]) -> dict[str, Any]:
    """kubectl keeps the whole Secret in an annotation."""
    metadata = secret["metadata"]
    if _LAST_APPLIED not in metadata.get("annotations", {}):
        return secret
    annotations = {**metadata["annotations"], _LAST_APPLIED: _MASK}
    return {**secret, "metadata": {**metadata, "annotations": annotations}}
