"""The options of the prune commands. Those of `oc adm prune images` keep its names and defaults."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from lading.cli import options as general
from lading.cli.options import Removed
from lading.kernel.errors import Malformed
from lading.pruning.engine import registry_url
from lading.pruning.engine.decisions import guards
from lading.pruning.engine.decisions.guards import Guard
from lading.pruning.engine.inventory.observe_registry import WORKERS_DEFAULT
from lading.pruning.engine.references import custom_paths
from lading.pruning.engine.types import KEEP_TAG_REVISIONS_DEFAULT, AgeFrom, Source

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
FILE = click.Path(path_type=Path, dir_okay=False, exists=True)
FOLDER = click.Path(path_type=Path, file_okay=False)
NEW_FILE = click.Path(path_type=Path, dir_okay=False)
RENAMED = {
    "--allow-nothing": "--ok-if-no-registry",
    "--hosts-dir": "--mirrors",
    "--registries-conf": "--mirrors",
    "--report-as": "--run-name",
    "--sweep-grace": "--grace",
}
_OWN_POD = Removed("the variables POD_NAME and POD_NAMESPACE name them", has_value=True)
REMOVED = {
    "--ignore-invalid-refs": Removed("references that cannot be read always protect images"),
    "--pod-name": _OWN_POD,
    "--pod-namespace": _OWN_POD,
    "--trash-copy": Removed("blobs that the registry does not mount are always copied"),
}
FormerNames = general.with_former_options(renamed=RENAMED, removed=REMOVED)


def with_options(*options: Decorator) -> Decorator:
    """Adds the options in this order."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        return functools.reduce(lambda inner, add: add(inner), reversed(options), command)

    return decorate


def switch(name: str, *, default: bool, help: str) -> Decorator:  # noqa: A002
    """A flag that also takes `=true` and `=false`, as the flags of oc do."""
    return click.option(
        name,
        type=bool,
        metavar="BOOL",
        is_flag=False,
        flag_value="true",
        default=default,
        show_default=True,
        help=help,
    )


def many(name: str, help: str, **more: Any) -> Decorator:  # noqa: A002
    return click.option(name, multiple=True, help=f"{help} May be repeated.", **more)


def period(name: str, *, default: str, help: str) -> Decorator:  # noqa: A002
    return click.option(
        name,
        metavar="DURATION",
        callback=general.meaning(general.period),
        default=default,
        show_default=True,
        help=help,
    )


def each(parse: Callable[[str], Any]) -> Callable[[Any, Any, tuple[str, ...]], tuple[Any, ...]]:
    """The callback of an option that may be repeated."""

    def read(_context: object, _option: object, texts: tuple[str, ...]) -> tuple[Any, ...]:
        try:
            return tuple(map(parse, texts))
        except Malformed as error:
            raise click.BadParameter(str(error)) from error

    return read


confirm = switch("--confirm", default=False, help="Delete; without it only the plan is shown.")
custom_path = many(
    "--custom-path",
    "A field of a custom resource that names images, by the kind of the resource.",
    metavar="KIND.GROUP=JSONPATH",
    callback=each(custom_paths.parse),
)
certificate_authority = click.option(
    "--certificate-authority",
    type=FILE,
    default=None,
    help="The authority of the registry's certificate.",
)
force_insecure = switch(
    "--force-insecure", default=False, help="Do not verify the registry's certificate."
)
registry_name = many(
    "--registry-name", "Another name by which clients pull from the registry.", metavar="HOST"
)
grace = period(
    "--grace",
    default="24h",
    help="The minimum age of a blob, and the minimum time from condemning to deleting it.",
)
kubeconfig = click.option(
    "--kubeconfig", metavar="FILE", type=FILE, help="The kubeconfig file; default: that of kubectl."
)
ONE_CLUSTER = (
    kubeconfig,
    click.option("--context", metavar="NAME", default="", help="The context of the kubeconfig."),
)
CLUSTERS = (
    kubeconfig,
    many(
        "--context",
        "A context of the kubeconfig: a cluster that uses the registry.",
        metavar="NAME",
    ),
    many(
        "--other-kubeconfig", "A kubeconfig of another cluster that uses the registry.", type=FILE
    ),
    many(
        "--references",
        "A file that `lading prune references` wrote, for a cluster out of reach.",
        type=FILE,
    ),
    period(
        "--references-max-age",
        default="1h",
        help="Refuse files of references that are older than this.",
    ),
    custom_path,
)
REGISTRY = (
    click.option(
        "--source",
        type=click.Choice([one.value for one in Source]),
        default=None,
        help="Prune ImageStreams, or a plain registry by its API or by its storage;"
        " default: what the cluster serves.",
    ),
    click.option(
        "--registry-url",
        metavar="URL",
        callback=general.meaning(registry_url.parse),
        default=None,
        help="The address of the registry; default: the one that ImageStreams name.",
    ),
    certificate_authority,
    force_insecure,
    many(
        "--repository",
        "Only this repository; needed if the registry has no catalog.",
        metavar="NAME",
    ),
)
READING = (
    registry_name,
    many(
        "--mirrors",
        "A registries.conf file or a certs.d folder with the mirrors that the nodes use.",
        metavar="PATH",
        type=click.Path(path_type=Path, exists=True),
    ),
    click.option(
        "--storage",
        metavar="URL",
        default="",
        help="Read the storage of the registry instead of its API: file:///FOLDER,"
        " s3://BUCKET/PREFIX, gs://BUCKET, az://CONTAINER.",
    ),
    click.option(
        "--num-workers",
        metavar="COUNT",
        type=click.IntRange(min=1),
        default=WORKERS_DEFAULT,
        show_default=True,
        help="How many requests run at a time. A slow registry needs fewer.",
    ),
)
RULES = (
    click.option(
        "-n",
        "--namespace",
        metavar="NAME",
        default="",
        help="Prune only this namespace; references of all namespaces protect. Default: all.",
    ),
    period("--keep-younger-than", default="60m", help="Keep images younger than this."),
    click.option(
        "--keep-tag-revisions",
        metavar="COUNT",
        type=click.IntRange(min=0),
        default=KEEP_TAG_REVISIONS_DEFAULT,
        show_default=True,
        help="How many revisions of each tag to keep, in ImageStreams and with --storage.",
    ),
    switch(
        "--prune-over-size-limit",
        default=False,
        help="Instead prune images that exceed the image limit of their namespace.",
    ),
    switch("--all", default=True, help="Also prune images that were imported."),
    switch("--prune-registry", default=True, help="Delete from the registry, not only objects."),
    click.option(
        "--age-from",
        type=click.Choice([one.value for one in AgeFrom]),
        default=AgeFrom.PUSHED.value,
        show_default=True,
        help="Count the age from the push, or from the creation that the image states.",
    ),
    click.option(
        "--policy",
        "policy_file",
        type=FILE,
        default=None,
        help="The file with the rules for tags of a plain registry; default: keep all tags.",
    ),
)
trash_repository = click.option(
    "--trash-repository",
    metavar="NAME",
    default="",
    help="The repository for deleted images; {project} is the first part of a path;"
    " default: lading-trash, for ImageStreams {project}/lading-trash.",
)
state_dir = click.option(
    "--state-dir",
    metavar="FOLDER",
    type=FOLDER,
    default=None,
    help="The folder for ages and known manifests; default: ages in the trash repository.",
)
TRASH = (
    click.option(
        "--trash/--no-trash",
        default=None,
        help="Copy images into the trash before they are deleted, or not (--no-trash); default:"
        " yes, for ImageStreams no, because it needs the right to push.",
    ),
    trash_repository,
    period("--trash-period", default="168h", help="How long the trash keeps an image."),
    state_dir,
)
GUARDS = (
    click.option(
        "--max-delete-percent",
        metavar="PERCENT",
        type=click.IntRange(0, 100),
        default=guards.SHARE_PERCENT_MAX_DEFAULT,
        show_default=True,
        help="Guard share: refuse to delete more than this percentage of manifests, or of blobs.",
    ),
    click.option(
        "--max-delete-bytes",
        metavar="SIZE",
        callback=general.meaning(general.size),
        default=None,
        help="Guard bytes: refuse to delete more than this, such as 500Gi.",
    ),
    many(
        "--ignore-guard",
        "A guard to turn off for this run.",
        type=click.Choice([one.value for one in Guard]),
    ),
)
prune_options = with_options(*CLUSTERS, *REGISTRY, *READING, *RULES, *TRASH)
"""The options that decide what a plan deletes: a plan and its `apply` need the same ones."""
