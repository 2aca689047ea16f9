"""`lading prune blobs`: frees storage that no manifest needs, dry unless --confirm."""

import functools
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lading.cli import options as general
from lading.cli import output
from lading.cli.output import Format
from lading.cli.prune import option_groups
from lading.cli.prune import options as pruning
from lading.kernel import durations, references
from lading.kernel.errors import Malformed
from lading.pruning.engine import registry_url
from lading.pruning.engine.references.custom_paths import READY_MADE
from lading.pruning.engine.references.observe import Reading
from lading.pruning.engine.registry_url import RegistryUrl
from lading.pruning.engine.types import Settings
from lading.pruning.sweep.defaults import PROBE_REPOSITORY

if TYPE_CHECKING:
    from lading.wiring.sweep import SweepOptions


def period(text: str) -> timedelta:
    found = durations.parse(text)
    if found < timedelta(0):
        raise Malformed(what="duration", text=text, reason="expected 0 or more")
    return found


def urls(_context: object, _option: object, given: tuple[str, ...]) -> tuple[RegistryUrl, ...]:
    try:
        return tuple(map(registry_url.parse, given))
    except Malformed as error:
        raise click.BadParameter(str(error)) from error


def repository(_context: object, _option: object, given: str) -> str:
    if not references.is_repository(given):
        raise click.BadParameter(f"{given!r} is not the name of a repository")
    return given


def in_a_folder(_context: object, _option: object, given: Path | None) -> Path | None:
    """Checked before anything goes, because the file is written last."""
    if given is not None and not given.absolute().parent.is_dir():
        raise click.BadParameter(f"{given}: there is no such folder")
    return given


_OWN = (
    click.option(
        "--storage",
        metavar="URL",
        required=True,
        help="The storage of the registry: file:///FOLDER, s3://BUCKET/PREFIX,"
        " gs://BUCKET, az://CONTAINER.",
    ),
    option_groups.many(
        "--registry-url",
        "The address of a replica of the registry. Name every replica. --confirm needs it, or "
        "--offline.",
        metavar="URL",
        callback=urls,
    ),
    click.option(
        "--certificate-authority",
        type=option_groups.FILE,
        default=None,
        help="The authority of the registry's certificate.",
    ),
    option_groups.switch(
        "--force-insecure", default=False, help="Do not verify the registry's certificate."
    ),
    option_groups.many(
        "--registry-name", "Another name by which clients pull from the registry.", metavar="HOST"
    ),
    option_groups.switch(
        "--offline",
        default=False,
        help="The registry is stopped or read-only: delete everything in one pass.",
    ),
    option_groups.switch(
        "--untagged",
        default=False,
        help="Keep only what tags, referrers and the references of clusters reach.",
    ),
    option_groups.switch(
        "--cluster-images",
        default=False,
        help="Also keep what Image objects of the clusters (OpenShift) name.",
    ),
    click.option(
        "--grace",
        metavar="DURATION",
        callback=general.meaning(period),
        default="24h",
        show_default=True,
        help="The minimum age of a blob, and the minimum time from condemning to deleting it.",
    ),
    click.option(
        "--second-look-after",
        metavar="DURATION",
        callback=general.meaning(period),
        default="30s",
        show_default=True,
        help="How long to wait for requests in progress before the second check.",
    ),
    click.option(
        "--state-dir",
        metavar="FOLDER",
        type=option_groups.FOLDER,
        default=None,
        help="The folder for the list of condemned blobs; default: in the storage.",
    ),
    click.option(
        "--probe-repository",
        metavar="NAME",
        default=PROBE_REPOSITORY,
        show_default=True,
        callback=repository,
        help="Where the probe image is pushed; other images there are not changed.",
    ),
    click.option(
        "--report",
        type=click.Path(path_type=Path, dir_okay=False),
        default=None,
        callback=in_a_folder,
        help="Write the reason of every blob to this file, one JSON document per line.",
    ),
)
_NAMES = (
    "storage",
    "registry_url",
    "certificate_authority",
    "force_insecure",
    "registry_name",
    "offline",
    "untagged",
    "cluster_images",
    "grace",
    "second_look_after",
    "state_dir",
    "probe_repository",
    "kubeconfig",
    "context",
    "other_kubeconfig",
    "references",
    "references_max_age",
    "custom_path",
    "max_delete_percent",
    "max_delete_bytes",
    "ignore_guard",
)


def _sweep_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds all of them, and hands them over as `options`."""

    @functools.wraps(command)
    def with_options(**given: Any) -> Any:
        own = {name: given.pop(name) for name in _NAMES}
        try:
            options = _options(own)
        except Malformed as error:
            raise click.UsageError(str(error)) from error
        return command(options=options, **given)

    decorated: Callable[..., Any] = with_options
    for option in reversed((*_OWN, *option_groups.CLUSTER, *option_groups.GUARDS)):
        decorated = option(decorated)
    return decorated


def _options(given: dict[str, Any]) -> "SweepOptions":
    # Slow to load, and `lading prune blobs --help` needs none of it.
    from lading.pruning.sweep.types import SweepSettings
    from lading.wiring.prune import RegistryTrust
    from lading.wiring.sweep import SweepOptions

    replicas: tuple[RegistryUrl, ...] = given["registry_url"]
    if given["offline"] and replicas:
        raise click.UsageError("with --offline the registry is not asked; remove --registry-url")
    for url in replicas:
        registry_url.check_trust(
            url,
            has_authority=given["certificate_authority"] is not None,
            force_insecure=given["force_insecure"],
        )
    needs_cluster = given["untagged"] or given["cluster_images"]
    return SweepOptions(
        storage_url=given["storage"],
        urls=replicas,
        trust=RegistryTrust(given["certificate_authority"], insecure=given["force_insecure"]),
        registry_names=given["registry_name"],
        connections=pruning.connections(given) if needs_cluster else (),
        reference_files=given["references"],
        references_age_max=given["references_max_age"],
        reading=Reading(settings=Settings(), custom=(*READY_MADE, *given["custom_path"])),
        untagged=given["untagged"],
        with_images=given["cluster_images"],
        limits=pruning.limits(given),
        settings=SweepSettings(
            grace=given["grace"],
            second_look_after=given["second_look_after"],
            is_offline=given["offline"],
        ),
        state_folder=given["state_dir"],
        probe_repository=given["probe_repository"],
    )


@click.command(name="blobs")
@option_groups.switch("--confirm", default=False, help="Delete; without it only the plan is shown.")
@output.form_option(default=Format.TABLE)
@_sweep_options
def command(options: "SweepOptions", confirm: bool, form: Format, report: Path | None) -> None:
    """Free the storage that no manifest needs; without --confirm only show the plan.

    The first run condemns blobs that no manifest needs. A run after the time of --grace deletes
    them if still no manifest needs them.
    """
    if confirm and not options.urls and not options.settings.is_offline:
        raise click.UsageError(
            "name every replica of the registry with --registry-url; if it is stopped or read-only,"
            " use --offline"
        )
    from lading.cli.prune import sweeping  # slow to load, and --help needs none of it

    sweeping.run(options, form, report, is_confirmed=confirm)
