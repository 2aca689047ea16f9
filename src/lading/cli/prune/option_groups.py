"""The options of the prune commands in groups: what each is called, takes and means."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from lading.cli import options as general
from lading.kernel.errors import Malformed
from lading.pruning.engine import registry_url
from lading.pruning.engine.decisions import guards
from lading.pruning.engine.decisions.guards import Guard
from lading.pruning.engine.inventory.observe_registry import WORKERS_DEFAULT
from lading.pruning.engine.references import custom_paths
from lading.pruning.engine.types import KEEP_TAG_REVISIONS_DEFAULT, AgeFrom, Source

FILE = click.Path(path_type=Path, dir_okay=False, exists=True)
FOLDER = click.Path(path_type=Path, file_okay=False)


def switch(name: str, *, default: bool, help: str) -> Callable[[Any], Any]:  # noqa: A002
    """A flag that takes `=true` and `=false` too, as those of oc do."""
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


def many(name: str, help: str, **more: Any) -> Callable[[Any], Any]:  # noqa: A002
    return click.option(name, multiple=True, help=f"{help} May be repeated.", **more)


def _custom_paths(_context: object, _option: object, texts: tuple[str, ...]) -> Any:
    try:
        return tuple(map(custom_paths.parse, texts))
    except Malformed as error:
        raise click.BadParameter(str(error)) from error


custom_path_option = many(
    "--custom-path",
    "A field of a custom resource that names images, by the kind of the resource.",
    metavar="KIND.GROUP=JSONPATH",
    callback=_custom_paths,
)
CLUSTER = (
    click.option(
        "--kubeconfig",
        metavar="FILE",
        type=FILE,
        help="The kubeconfig file; default: that of kubectl.",
    ),
    many(
        "--context",
        "A context of the kubeconfig: a cluster that uses the registry.",
        metavar="NAME",
    ),
    many(
        "--other-kubeconfig", "A kubeconfig of another cluster that uses the registry.", type=FILE
    ),
    many("--references", "A file that `lading prune references` wrote.", type=FILE),
    click.option(
        "--references-max-age",
        metavar="DURATION",
        callback=general.meaning(general.period),
        default="1h",
        show_default=True,
        help="Refuse files of references that are older than this.",
    ),
    custom_path_option,
)
REGISTRY = (
    click.option(
        "--source",
        type=click.Choice([one.value for one in Source]),
        default=None,
        help="Prune ImageStreams, or a plain registry by its API or by its storage;"
        " default: by what the cluster serves.",
    ),
    click.option(
        "--registry-url",
        metavar="URL",
        callback=general.meaning(registry_url.parse),
        default=None,
        help="The address of the registry; default: found for ImageStreams.",
    ),
    click.option(
        "--certificate-authority",
        type=FILE,
        default=None,
        help="The authority of the registry's certificate.",
    ),
    switch("--force-insecure", default=False, help="Do not verify the registry's certificate."),
    many(
        "--registry-name", "Another name by which clients pull from the registry.", metavar="HOST"
    ),
    click.option(
        "--registries-conf",
        type=FILE,
        default=None,
        help="A registries.conf with mirrors that the nodes use.",
    ),
    click.option(
        "--hosts-dir",
        metavar="FOLDER",
        type=FOLDER,
        default=None,
        help="A certs.d folder with mirrors that the nodes use.",
    ),
    click.option(
        "--storage",
        metavar="URL",
        default="",
        help="Read the storage of the registry instead of its API: file:///FOLDER,"
        " s3://BUCKET/PREFIX, gs://BUCKET, az://CONTAINER.",
    ),
    many(
        "--repository",
        "Only this repository; needed if the registry has no catalog.",
        metavar="NAME",
    ),
    click.option(
        "--num-workers",
        metavar="COUNT",
        type=click.IntRange(min=1),
        default=WORKERS_DEFAULT,
        show_default=True,
        help="How many requests run at a time.",
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
    click.option(
        "--keep-younger-than",
        metavar="DURATION",
        callback=general.meaning(general.period),
        default="60m",
        show_default=True,
        help="Keep images younger than this.",
    ),
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
    switch(
        "--ignore-invalid-refs",
        default=False,
        help="Accepted as in oc, without effect: unreadable references always protect images.",
    ),
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
GUARDS = (
    click.option(
        "--max-delete-percent",
        metavar="PERCENT",
        type=click.IntRange(0, 100),
        default=guards.SHARE_PERCENT_MAX_DEFAULT,
        show_default=True,
        help="Guard share: the largest percentage of manifests, or of blobs, that one run deletes.",
    ),
    click.option(
        "--max-delete-bytes",
        metavar="SIZE",
        callback=general.meaning(general.size),
        default=None,
        help="Guard bytes: the most bytes that one run deletes, such as 500Gi.",
    ),
    many(
        "--ignore-guard",
        "A guard to turn off for this run.",
        type=click.Choice([one.value for one in Guard]),
    ),
)
TRASH = (
    click.option(
        "--trash-repository",
        metavar="NAME",
        default="",
        help="The repository for deleted images; {project} is the first part of a path;"
        " default: lading-trash, for ImageStreams {project}/lading-trash.",
    ),
    click.option(
        "--trash-period",
        metavar="DURATION",
        callback=general.meaning(general.period),
        default="168h",
        show_default=True,
        help="How long deleted images are kept.",
    ),
    click.option("--no-trash", is_flag=True, help="Delete without a copy in the trash."),
    click.option(
        "--trash",
        "stream_trash",
        is_flag=True,
        help="Also use the trash for ImageStreams; needs the right to push.",
    ),
    click.option(
        "--trash-copy",
        is_flag=True,
        help="Copy blobs into the trash if the registry does not mount them.",
    ),
    click.option(
        "--state-dir",
        metavar="FOLDER",
        type=FOLDER,
        default=None,
        help="The folder for ages and known manifests; default: ages in the trash repository.",
    ),
)
