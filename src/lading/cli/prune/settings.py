"""Turns the options of the prune commands into the settings of a run."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import yaml

from lading import files
from lading.adapters.kube.connection import Connection
from lading.cli.connection import Target
from lading.kernel import references, yaml_text
from lading.kernel.errors import Malformed
from lading.pruning.engine import registry_url
from lading.pruning.engine.decisions import policy
from lading.pruning.engine.decisions.guards import Guard, Limits
from lading.pruning.engine.references.custom_paths import READY_MADE
from lading.pruning.engine.references.observe import Reading
from lading.pruning.engine.registry_url import RegistryUrl
from lading.pruning.engine.trash.trash import TrashSettings
from lading.pruning.engine.types import AgeFrom, Settings, Source
from lading.pruning.sweep.types import SweepSettings
from lading.wiring.prune import PruneOptions, RegistryTrust
from lading.wiring.sweep import SweepOptions

Given = dict[str, Any]
"""The values of a command's options, by their names."""


@contextmanager
def _usage_errors() -> Iterator[None]:
    try:
        yield
    except Malformed as error:
        raise click.UsageError(str(error)) from error


@_usage_errors()
def of_plan(given: Given) -> PruneOptions:
    """For the commands that make a plan; without --max-delete-* the guards have their defaults."""
    _check_size_mode(given)
    _check_registry(given)
    reading = Reading(settings=_settings(given), custom=(*READY_MADE, *given["custom_path"]))
    tag_policy = _policy(given["policy_file"])
    return PruneOptions(
        connections=_connections(given),
        reference_files=given["references"],
        references_age_max=given["references_max_age"],
        source=_source(given),
        url=given["registry_url"],
        trust=_trust(given),
        registry_names=given["registry_name"],
        mirror_files=given["mirrors"],
        storage_url=given["storage"],
        repositories=given["repository"],
        reading=reading,
        policy=tag_policy,
        limits=_limits(given) if "ignore_guard" in given else Limits(),
        trash=given["trash"],
        trash_repository=given["trash_repository"],
        trash_period=given["trash_period"],
        state_folder=given["state_dir"],
        workers=given["num_workers"],
    )


@_usage_errors()
def of_trash(given: Given) -> PruneOptions:
    """For the commands that only need the registry and its trash."""
    _check_registry(given)
    source = Source(given["source"]) if given["source"] else None
    is_plain = source in (Source.REGISTRY, Source.STORAGE)
    cluster = Target(kubeconfig=given["kubeconfig"], context=given["context"], namespace="")
    return PruneOptions(
        connections=() if is_plain else (cluster.found(),),
        source=Source.REGISTRY if is_plain else source,
        url=given["registry_url"],
        trust=_trust(given),
        repositories=given["repository"],
        trash=True,
        trash_repository=given["trash_repository"],
        state_folder=given.get("state_dir"),
    )


@_usage_errors()
def of_sweep(given: Given) -> SweepOptions:
    replicas: tuple[RegistryUrl, ...] = given["registry_url"]
    if given["offline"] and replicas:
        raise click.UsageError("with --offline the registry is not asked; remove --registry-url")
    for url in replicas:
        _check_trust(url, given)
    needs_cluster = given["untagged"] or given["cluster_images"]
    return SweepOptions(
        storage_url=given["storage"],
        urls=replicas,
        trust=_trust(given),
        registry_names=given["registry_name"],
        connections=_connections(given) if needs_cluster else (),
        reference_files=given["references"],
        references_age_max=given["references_max_age"],
        reading=Reading(settings=Settings(), custom=(*READY_MADE, *given["custom_path"])),
        untagged=given["untagged"],
        with_images=given["cluster_images"],
        limits=_limits(given),
        settings=SweepSettings(
            grace=given["grace"],
            second_look_after=given["second_look_after"],
            is_offline=given["offline"],
        ),
        state_folder=given["state_dir"],
    )


def _check_size_mode(given: Given) -> None:
    context, typed = click.get_current_context(), click.core.ParameterSource.COMMANDLINE
    keeps = ("keep_tag_revisions", "keep_younger_than")
    if given["prune_over_size_limit"] and any(
        context.get_parameter_source(name) is typed for name in keeps
    ):
        raise click.UsageError(
            "--prune-over-size-limit cannot be specified with --keep-tag-revisions nor"
            " --keep-younger-than"
        )


def _check_registry(given: Given) -> None:
    url: RegistryUrl | None = given["registry_url"]
    if url is not None or given["force_insecure"]:
        _check_trust(url or RegistryUrl(host="the registry"), given)
    for name in given["repository"]:
        if not references.is_repository(name.lower()):
            raise click.BadParameter(
                f"{name!r} is not a repository, such as team/app", param_hint="--repository"
            )
    if given["trash_repository"]:
        TrashSettings(registry="", repository=given["trash_repository"])


def _check_trust(url: RegistryUrl, given: Given) -> None:
    registry_url.check_trust(
        url,
        has_authority=given["certificate_authority"] is not None,
        force_insecure=given["force_insecure"],
    )


def _trust(given: Given) -> RegistryTrust:
    return RegistryTrust(given["certificate_authority"], insecure=given["force_insecure"])


def _limits(given: Given) -> Limits:
    return Limits(
        share_percent_max=given["max_delete_percent"],
        size_bytes_max=given["max_delete_bytes"],
        ignored=frozenset(map(Guard, given["ignore_guard"])),
    )


def _source(given: Given) -> Source | None:
    """`--storage` alone selects the storage."""
    source = Source(given["source"]) if given["source"] else None
    if given["storage"] and source in (None, Source.STORAGE):
        return Source.STORAGE
    if given["storage"] or source is Source.STORAGE:
        raise click.UsageError(
            "--source=storage needs --storage URL, and no other --source takes it"
        )
    return source


def _settings(given: Given) -> Settings:
    return Settings(
        keep_younger_than=given["keep_younger_than"],
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


def _connections(given: Given) -> tuple[Connection, ...]:
    """The named contexts, else the current one. Files of references alone need no cluster."""
    contexts: tuple[str, ...] = given["context"]
    others: tuple[Path, ...] = given["other_kubeconfig"]
    if given["references"] and not (contexts or given["kubeconfig"] or others):
        return ()
    targets = [
        *(Target(kubeconfig=given["kubeconfig"], context=one, namespace="")
          for one in contexts or ("",)),
        *(Target(kubeconfig=one, context="", namespace="") for one in others),
    ]  # fmt: skip
    return tuple(one.found() for one in targets)
