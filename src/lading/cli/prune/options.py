"""The options of the prune commands: those of `oc adm prune images`, and ours."""

import functools
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import yaml

from lading.adapters.kube.connection import Connection
from lading.cli import options as general
from lading.cli.connection import Target
from lading.kernel import yaml_text
from lading.kernel.errors import Malformed
from lading.pruning.engine import custom_paths, guards, policy, registry_url
from lading.pruning.engine.custom_paths import READY_MADE
from lading.pruning.engine.guards import Guard, Limits
from lading.pruning.engine.observe import Reading
from lading.pruning.engine.observe_registry import WORKERS_DEFAULT
from lading.pruning.engine.registry_url import RegistryUrl
from lading.pruning.engine.types import KEEP_TAG_REVISIONS_DEFAULT, AgeFrom, Settings, Source

if TYPE_CHECKING:
    from lading.wiring.prune import Options

FILE = click.Path(path_type=Path, dir_okay=False, exists=True)
FOLDER = click.Path(path_type=Path, file_okay=False)
_KEEPS = ("keep_tag_revisions", "keep_younger_than")


def switch(name: str, *, default: bool, help: str) -> Callable[[Any], Any]:  # noqa: A002
    """A flag that takes `=true` and `=false` too, as those of oc do."""
    return click.option(
        name, type=bool, is_flag=False, flag_value="true", default=default, show_default=True,
        help=help,
    )  # fmt: skip


def many(name: str, help: str, **more: Any) -> Callable[[Any], Any]:  # noqa: A002
    return click.option(name, multiple=True, help=f"{help} May be given several times.", **more)


def _custom_paths(_context: object, _option: object, texts: tuple[str, ...]) -> Any:
    try:
        return tuple(map(custom_paths.parse, texts))
    except Malformed as error:
        raise click.BadParameter(str(error)) from error


custom_path_option = many(
    "--custom-path", "KIND.GROUP=JSONPATH of a field that names images.", callback=_custom_paths
)
CLUSTER = (
    click.option("--kubeconfig", type=FILE, help="The kubeconfig file; default: as kubectl."),
    many("--context", "A context of the kubeconfig: a cluster that uses the registry."),
    many("--other-kubeconfig", "A kubeconfig of another cluster that uses the registry.",
         type=FILE),
    many("--references", "A file that `lading prune references` wrote.", type=FILE),
    click.option("--references-max-age", callback=general.meaning(general.period), default="1h",
                 show_default=True, help="Refuse files of references that are older than this."),
    custom_path_option,
)  # fmt: skip
_REGISTRY = (
    click.option("--source", type=click.Choice([one.value for one in Source]), default=None,
                 help="Prune ImageStreams, a plain registry by its API, or by its storage."),
    click.option("--registry-url", callback=general.meaning(registry_url.parse), default=None,
                 help="The address of the registry."),
    click.option("--certificate-authority", type=FILE, default=None,
                 help="The authority of the registry's certificate."),
    switch("--force-insecure", default=False, help="Do not verify the registry's certificate."),
    many("--registry-name", "Another name by which clients pull from it."),
    click.option("--registries-conf", type=FILE, default=None,
                 help="A registries.conf with mirrors that the nodes use."),
    click.option("--hosts-dir", type=FOLDER, default=None,
                 help="A certs.d folder with mirrors that the nodes use."),
    click.option("--storage", default="",
                 help="The storage of the registry: file:///FOLDER, s3://BUCKET/PREFIX, gs, az."),
    many("--repository", "Only this repository; needed if the registry has no catalog."),
    click.option("--num-workers", type=click.IntRange(min=1), default=WORKERS_DEFAULT,
                 show_default=True, help="How many requests run at a time."),
)  # fmt: skip
_RULES = (
    click.option("-n", "--namespace", default="", help="Prune only this namespace."),
    click.option("--keep-younger-than", callback=general.meaning(general.period), default="60m",
                 show_default=True, help="Keep images younger than this."),
    click.option("--keep-tag-revisions", type=click.IntRange(min=0),
                 default=KEEP_TAG_REVISIONS_DEFAULT, show_default=True,
                 help="How many revisions of each tag to keep."),
    switch("--prune-over-size-limit", default=False, help="Prune what exceeds image limits."),
    switch("--all", default=True, help="Also prune images of other registries."),
    switch("--prune-registry", default=True, help="Delete from the registry, not only objects."),
    switch("--ignore-invalid-refs", default=False,
           help="Accepted as in oc, without effect: unreadable references protect."),
    click.option("--age-from", type=click.Choice([one.value for one in AgeFrom]),
                 default=AgeFrom.PUSHED.value, show_default=True, help="Count the age from this."),
    click.option("--policy", "policy_file", type=FILE, default=None,
                 help="The policy file of a plain registry; default: keep all tags."),
)  # fmt: skip
GUARDS = (
    click.option("--max-delete-percent", type=click.IntRange(0, 100),
                 default=guards.SHARE_PERCENT_MAX_DEFAULT, show_default=True,
                 help="The largest percentage of manifests, or of blobs, that one run deletes."),
    click.option("--max-delete-bytes", callback=general.meaning(general.size),
                 default=None, help="The most bytes that one run deletes, such as 500Gi."),
    many("--ignore-guard", "A guard to turn off.",
         type=click.Choice([one.value for one in Guard])),
)  # fmt: skip
_TRASH = (
    click.option("--trash-repository", default="",
                 help="Where deleted images are kept; {project} is the first part of a path."),
    click.option("--trash-period", callback=general.meaning(general.period), default="168h",
                 show_default=True, help="How long deleted images are kept."),
    click.option("--no-trash", is_flag=True, help="Delete without a copy in the trash."),
    click.option("--trash", "stream_trash", is_flag=True,
                 help="Also use the trash for ImageStreams; needs the right to push."),
    click.option("--trash-copy", is_flag=True, help="Copy blobs that cannot be mounted."),
    click.option("--state-dir", type=FOLDER, default=None,
                 help="The directory for ages and known manifests."),
)  # fmt: skip


def prune_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds all of them, and hands them over as `options`."""

    @functools.wraps(command)
    @click.pass_context
    def with_options(context: click.Context, /, **given: Any) -> Any:
        own = {name: given.pop(name) for name in _NAMES}
        try:
            options = _options(context, own)
        except Malformed as error:
            raise click.UsageError(str(error)) from error
        return command(options=options, **given)

    decorated: Callable[..., Any] = with_options
    for option in reversed((*CLUSTER, *_REGISTRY, *_RULES, *GUARDS, *_TRASH)):
        decorated = option(decorated)
    return decorated


_NAMES = (
    "kubeconfig", "context", "other_kubeconfig", "references", "references_max_age",
    "custom_path", "source",
    "registry_url", "certificate_authority", "force_insecure", "registry_name", "registries_conf",
    "hosts_dir", "storage", "repository", "num_workers", "namespace", "keep_younger_than",
    "keep_tag_revisions", "prune_over_size_limit", "all", "prune_registry", "ignore_invalid_refs",
    "age_from", "policy_file", "max_delete_percent", "max_delete_bytes", "ignore_guard",
    "trash_repository", "trash_period", "no_trash", "stream_trash", "trash_copy", "state_dir",
)  # fmt: skip


def _options(context: click.Context, given: dict[str, Any]) -> "Options":
    from lading.wiring.prune import Options  # slow to load, and --help needs none of it

    _check_size_mode(context, given)
    if given["no_trash"] and given["stream_trash"]:
        raise click.UsageError("use either --trash or --no-trash")
    url: RegistryUrl | None = given["registry_url"]
    if url is not None or given["force_insecure"]:
        registry_url.check_trust(
            url or RegistryUrl(host="the registry"),
            has_authority=given["certificate_authority"] is not None,
            force_insecure=given["force_insecure"],
        )
    reading = Reading(settings=_settings(given), custom=(*READY_MADE, *given["custom_path"]))
    tag_policy = _policy(given["policy_file"])
    return Options(
        connections=connections(given),
        reference_files=given["references"],
        references_age_max=given["references_max_age"],
        source=_source(given),
        url=url,
        certificate_authority=given["certificate_authority"],
        force_insecure=given["force_insecure"],
        registry_names=given["registry_name"],
        registries_conf=given["registries_conf"],
        hosts_folder=given["hosts_dir"],
        storage_url=given["storage"],
        repositories=given["repository"],
        reading=reading,
        policy=tag_policy,
        limits=limits(given),
        trash_repository=given["trash_repository"],
        trash_period=given["trash_period"],
        trash_copy=given["trash_copy"],
        no_trash=given["no_trash"],
        stream_trash=given["stream_trash"],
        state_folder=given["state_dir"],
        workers=given["num_workers"],
    )


def limits(given: dict[str, Any]) -> Limits:
    return Limits(
        share_percent_max=given["max_delete_percent"],
        size_bytes_max=given["max_delete_bytes"],
        ignored=frozenset(map(Guard, given["ignore_guard"])),
    )


def _source(given: dict[str, Any]) -> Source | None:
    """`--storage` is enough to choose it."""
    source = Source(given["source"]) if given["source"] else None
    if given["storage"] and source in (None, Source.STORAGE):
        return Source.STORAGE
    if given["storage"] or source is Source.STORAGE:
        raise click.UsageError("--storage URL and --source=storage must be used together")
    return source


def _check_size_mode(context: click.Context, given: dict[str, Any]) -> None:
    typed = click.core.ParameterSource.COMMANDLINE
    if given["prune_over_size_limit"] and any(
        context.get_parameter_source(name) is typed for name in _KEEPS
    ):
        raise click.UsageError(
            "--prune-over-size-limit cannot be specified with --keep-tag-revisions nor"
            " --keep-younger-than"
        )


def _settings(given: dict[str, Any]) -> Settings:
    age: timedelta = given["keep_younger_than"]
    return Settings(
        keep_younger_than=age,
        keep_tag_revisions=given["keep_tag_revisions"],
        prune_over_size_limit=given["prune_over_size_limit"],
        all_images=given["all"],
        namespace=given["namespace"],
        prune_registry=given["prune_registry"],
        age_from=AgeFrom(given["age_from"]),
    )


def _policy(file: Path | None) -> policy.Policy:
    if file is None:
        return policy.NO_POLICY
    try:
        return policy.parse(yaml_text.value(file.read_bytes()))
    except yaml.YAMLError as error:
        raise Malformed(what="prune policy", text=str(file), reason=str(error)) from error


def connections(given: dict[str, Any]) -> tuple[Connection, ...]:
    """The named contexts, else the current one; none where only files of references are named."""
    contexts: tuple[str, ...] = given["context"]
    names_cluster = contexts or given["kubeconfig"] or given["other_kubeconfig"]
    if given["references"] and not names_cluster:
        return ()
    targets = [
        *(Target(kubeconfig=given["kubeconfig"], context=one, namespace="")
          for one in contexts or ("",)),
        *(Target(kubeconfig=one, context="", namespace="") for one in given["other_kubeconfig"]),
    ]  # fmt: skip
    return tuple(one.found() for one in targets)
