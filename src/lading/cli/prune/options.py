"""The options of the prune commands: those of `oc adm prune images`, and ours."""

import functools
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lading import files
from lading.adapters.kube.connection import Connection
from lading.cli.connection import Target
from lading.cli.prune import option_groups as groups
from lading.kernel import references
from lading.kernel.errors import Malformed
from lading.pruning.engine import registry_url
from lading.pruning.engine.decisions import policy
from lading.pruning.engine.decisions.guards import Guard, Limits
from lading.pruning.engine.references.custom_paths import READY_MADE
from lading.pruning.engine.references.observe import Reading
from lading.pruning.engine.registry_url import RegistryUrl
from lading.pruning.engine.trash.trash import TrashSettings
from lading.pruning.engine.types import AgeFrom, Settings, Source

if TYPE_CHECKING:
    from lading.wiring.prune import Options

_KEEPS = ("keep_tag_revisions", "keep_younger_than")


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
    for option in reversed(
        (*groups.CLUSTER, *groups.REGISTRY, *groups.RULES, *groups.GUARDS, *groups.TRASH)
    ):
        decorated = option(decorated)
    return decorated


_NAMES = (
    "kubeconfig", "context", "other_kubeconfig", "references", "references_max_age",
    "custom_path", "source", "registry_url", "certificate_authority", "force_insecure",
    "registry_name", "registries_conf", "hosts_dir", "storage", "repository", "num_workers",
    "namespace", "keep_younger_than", "keep_tag_revisions", "prune_over_size_limit", "all",
    "prune_registry", "ignore_invalid_refs", "age_from", "policy_file", "max_delete_percent",
    "max_delete_bytes", "ignore_guard", "trash_repository", "trash_period", "no_trash",
    "stream_trash", "trash_copy", "state_dir",
)  # fmt: skip


def _options(context: click.Context, given: dict[str, Any]) -> "Options":
    from lading.wiring.prune import Options  # slow to load, and --help needs none of it

    _check_size_mode(context, given)
    if given["no_trash"] and given["stream_trash"]:
        raise click.UsageError("use either --trash or --no-trash, not both")
    url: RegistryUrl | None = given["registry_url"]
    if url is not None or given["force_insecure"]:
        registry_url.check_trust(
            url or RegistryUrl(host="the registry"),
            has_authority=given["certificate_authority"] is not None,
            force_insecure=given["force_insecure"],
        )
    for name in given["repository"]:
        if not references.is_repository(name.lower()):
            raise click.BadParameter(
                f"{name!r} is not a repository, such as team/app", param_hint="--repository"
            )
    if given["trash_repository"]:
        TrashSettings(registry="", repository=given["trash_repository"])
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
        raise click.UsageError(
            "--source=storage needs --storage URL, and no other --source takes it"
        )
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
    import yaml  # slow to load, and few runs have a policy

    from lading.kernel import yaml_text

    try:
        return policy.parse(yaml_text.value(files.read_bounded(file)))
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise _bad_policy(f"{file}{line}: this is not YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        reason = str(error).partition("\n")[0]
        raise _bad_policy(f"{file}: this is not YAML: {reason}") from error
    except Malformed as error:
        reason = error.reason if error.what == policy.WHAT else str(error)
        raise _bad_policy(f"{file}: {reason}") from error


def _bad_policy(reason: str) -> click.BadParameter:
    return click.BadParameter(reason, param_hint="--policy")


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
